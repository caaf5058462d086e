control C(inout int<8> a, in int<8> b) {
    apply { a = a / b; }
}
