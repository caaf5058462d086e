control C(in bit<8> x, in bit<8> y, out bool z) {
    apply { z = x && y; }
}
