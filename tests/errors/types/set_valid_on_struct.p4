struct s_t { bit<8> x; }
control C(inout s_t s) {
    apply { s.setValid(); }
}
