control C(inout bit<8> a, in bit<16> b) {
    apply { a = a + b; }
}
