header h_t { bit<8> x; }
control C(in h_t[2] h, out bit<8> b) {
    apply { b = h[2].x; }
}
