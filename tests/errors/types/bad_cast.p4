header h_t { bit<8> x; }
control C(in h_t h, out bit<8> b) {
    apply { b = (bit<8>) h; }
}
