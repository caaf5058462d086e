control C(inout bit<9> x; in bit<9> y) {
    action set(bit<9> a; bit<9> b) { x = a + b; }
    apply { set(1, y); }
}
