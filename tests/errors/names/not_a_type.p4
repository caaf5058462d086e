const bit<8> A = 1;
control C(in A x) {
    apply { }
}
