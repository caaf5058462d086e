control C(in bit<8> a) {
    apply { a = 1; }
}
