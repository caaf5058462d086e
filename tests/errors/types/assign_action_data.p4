control C(inout bit<8> a) {
    action set(bit<8> v) { v = a; }
    table t { actions = { set; } default_action = set(1); }
    apply { t.apply(); }
}
