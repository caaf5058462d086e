control C(in bit<8> x, out bool y) {
    apply { if (x > 1 and x < 5) { y = true; } }
}
