bit<8> f(in bit<8> a) { return a; }
control C(in bool b, out bit<8> x) {
    apply { x = f(b); }
}
