struct s_t { bit<8> a; }
control C(out bit<8> x) {
    apply { x = s_t; }
}
