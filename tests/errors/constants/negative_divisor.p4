control C(inout bit<8> a) {
    apply { a = a / -1; }
}
