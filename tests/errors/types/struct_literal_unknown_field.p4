struct s_t { bit<8> a; bit<8> b; }
control C(out s_t s) {
    apply { s = { a = 1, c = 2 }; }
}
