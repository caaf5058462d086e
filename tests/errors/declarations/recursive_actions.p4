control C() {
    action a() { b(); }
    action b() { a(); }
    apply { a(); }
}
