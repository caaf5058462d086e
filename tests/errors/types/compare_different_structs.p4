struct a_t { bit<8> x; }
struct b_t { bit<8> x; }
control C(in a_t a, in b_t b, out bool r) {
    apply { r = a == b; }
}
