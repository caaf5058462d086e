control C(inout bit<8> x) {
    action set(bit<8> v) { x = v; }
    apply { set(); }
}
