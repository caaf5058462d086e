#include <core.p4>
control C(inout bit<8> x) {
    action a() { x = 1; }
    table t { key = { x : exact; } actions = { a; NoAction; } }
    apply {
        switch (t.apply().action_run) {
            a: { x = 2; break; }
            default: { x = 3; }
        }
    }
}
