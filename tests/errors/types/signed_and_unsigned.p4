control C(inout bit<8> a, in int<8> b) {
    apply { a = a + b; }
}
