control C(inout bit<8> x) {
    apply { else { x = 1; } }
}
