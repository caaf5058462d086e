control C(in bool a, out bit<8> b) {
    apply { b = (bit<8>) a; }
}
