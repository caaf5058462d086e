#include <core.p4>
control C(inout bit<8> x) {
    action a() { x = 1; }
    table t { key = { x : exact; } actions = { a; NoAction; } }
    table u { key = { x : exact; } actions = { a; NoAction; } }
    apply {
        if (t.hit) { x = 2; }
        if (t.miss()) { x = 2; }
        if (t.apply().hit()) { x = 3; }
        if (u.apply().action_run == a) { x = 4; }
        t.lookup();
    }
}
