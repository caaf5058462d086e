void f() { }
control C(out bit<8> x) {
    apply { x = f(); }
}
