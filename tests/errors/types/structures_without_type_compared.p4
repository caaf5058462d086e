control C(in bit<8> x, out bool same) {
    apply { same = { a = x, b = 1 } == { a = 1, b = x }; }
}
