#include <core.p4>
control C(in bit<8> x) {
    action a() { }
    table t {
        key = { x: ternary; }
        actions = { a; }
        priority_delta = -2;
        largest_priority_wins = "no";
    }
    apply { t.apply(); }
}
