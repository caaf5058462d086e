bit<8> f(in bit<8> a) {
    if (a == 1) { return 2; }
}
