bit<8> f(in bit<8> a, in bit<8> b) { return a + b; }
control C(out bit<8> x) {
    apply { x = f(1); }
}
