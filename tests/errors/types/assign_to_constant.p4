const bit<8> A = 1;
control C() {
    apply { A = 2; }
}
