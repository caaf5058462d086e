extern void same<T>(in T a, in T b);
control C(in bit<8> a, in bit<16> b) {
    apply { same(a, b); }
}
