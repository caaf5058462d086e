header h_t { bit<8> tll; bit<8> proto; }
control C(inout h_t h) {
    apply {
        if (h.ttl == 0) { h.proto = 1; }
        h.ttl = h.ttl - 1;
    }
}
