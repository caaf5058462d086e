void f(out bit<8> a) { a = 1; }
control C() {
    apply { f(3); }
}
