control C(in bit<8> a) {
    apply { break; }
}
