control C(in bit<8> a) {
    apply { bit<(a)> x; }
}
