struct s_t { bit<8> x; }
control C(in s_t<bit<8>> p) {
    apply { }
}
