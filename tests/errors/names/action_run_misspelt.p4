match_kind { exact }
control C(inout bit<8> x) {
    action a() { x = 1; }
    action b() { x = 2; }
    table t { key = { x : exact; } actions = { a; b; } default_action = a(); }
    apply {
        switch (t.apply().acton_run) {
            a: { x = 3; }
            b: { x = 4; }
        }
    }
}
