header h_t { bit<8> x; }
control C(inout h_t h) {
    apply { if (h.valid) { h.x = 1; } }
}
