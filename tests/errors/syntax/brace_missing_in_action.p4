control C(inout bit<8> x) {
    action a() {
        x = 1;
    action b() {
        x = 2;
    }
    apply { a(); b(); }
}
