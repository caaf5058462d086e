control C(in bit<8> a) {
    const bit<8> K = a;
    apply { }
}
