control C(inout bit<8> x) {
    apply() { x = 1; }
}
control D(inout bit<8> x) {
    apply { x = 2; };
}
