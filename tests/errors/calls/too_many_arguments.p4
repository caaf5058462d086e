bit<8> f(in bit<8> a) { return a; }
control C(out bit<8> x) {
    apply { x = f(1, 2); }
}
