header h_t { bit<8> ttl; }
control C(inout h_t h) {
    apply {
        if (h.isValid() == 1) { h.ttl = 1; }
        if (h) { h.ttl = 2; }
        if (h != 0) { h.ttl = 3; }
        if (1 < h.ttl < 10) { h.ttl = 4; }
        if (h.isValid() & h.ttl > 0) { h.ttl = 5; }
        if (h == null) { h.ttl = 6; }
    }
}
