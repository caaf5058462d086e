control C(out bit<16> b) {
    apply { b = 1 ++ 8w2; }
}
