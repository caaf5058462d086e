control C(in bit<8> x, in bit<8> x) {
    apply { }
}
