#include <core.p4>
control C(inout bit<8> x) {
    action a(inout bit<8> b, bit<8> d) { b = d; }
    table t {
        key = { x: exact; }
        actions = { a; }
        default_action = a(x, 0);
    }
    apply { t.apply(); }
}
