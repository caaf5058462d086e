control C(inout bit<1> a) {
    apply { if (a) { a = 0; } }
}
