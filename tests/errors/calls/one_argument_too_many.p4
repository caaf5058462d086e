control C(inout bit<16> x) {
    action a() { }
    apply { a(x); }
}
