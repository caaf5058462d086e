void f(inout bit<8> a) { a = 1; }
control C(in bit<8> x) {
    apply { f(x); }
}
