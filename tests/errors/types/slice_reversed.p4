control C(in bit<8> a, out bit<4> b) {
    apply { b = a[3:6]; }
}
