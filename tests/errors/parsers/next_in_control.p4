header h_t { bit<8> x; }
control C(inout h_t[2] h) {
    apply { h.next.setValid(); }
}
