#include <core.p4>
control C(in bit<8> x) {
    action a() { }
    table t {
        key = { x: ternary; }
        actions = { a; }
        entries = {
            1 : a();
            priority = 10 : 2 : a();
        }
    }
    apply { t.apply(); }
}
