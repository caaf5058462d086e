control C(in bit<8> a, out bit<8> b) {
    apply { b = a.high; }
}
