header h_t { bit<8> x; }
control C(inout h_t[4] stack) {
    apply { stack.last = { 1 }; }
}
