#include <core.p4>
control C(inout bit<8> x) {
    action a() { }
    action b() { }
    table t { key = { x : exact; } actions = { a; b; NoAction; } }
    apply {
        switch (t.apply().action_run) {
            a: x = 1;
            b: if (x == 2) { x = 3; } x = 4;
            NoAction: { x = 5; }
        }
    }
}
