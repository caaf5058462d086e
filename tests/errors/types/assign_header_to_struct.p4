header h_t { bit<8> x; }
struct s_t { bit<8> x; }
control C(in h_t h, out s_t s) {
    apply { s = h; }
}
