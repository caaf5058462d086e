control C(inout bit<8> x, inout bit<8> y) {
    apply { if (x = y) { } }
}
