control C(inout bit<8> x) {
    action a() { }
    table t { key = { x: exact; } actions = { a; } default_action = a; }
    apply { t.apply(); }
}
