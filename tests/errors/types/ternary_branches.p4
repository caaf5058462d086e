control C(in bool c, in bit<8> a, in bit<16> b, out bit<8> r) {
    apply { r = c ? a : b; }
}
