header h_t { bit<8> x; }
control C(inout h_t[4] stack, in bit<8> count) {
    apply {
        stack.push_front(count);
        stack.pop_front(true);
    }
}
