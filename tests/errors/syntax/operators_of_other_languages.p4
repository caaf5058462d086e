header h_t { bit<8> ttl; }
control C(inout h_t h) {
    apply {
        h->ttl = 1;
        if (h.ttl <> 0) { h.ttl = 2; }
        if (not h.isValid()) { h.ttl = h->ttl; }
    }
}
