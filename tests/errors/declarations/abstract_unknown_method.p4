extern E { E(); abstract bit<8> f(in bit<8> x); }
E() e = {
    bit<8> f(in bit<8> x) { return x; }
    bit<8> g(in bit<8> x) { return x; }
};
