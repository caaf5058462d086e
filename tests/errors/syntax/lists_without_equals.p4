#include <core.p4>
control C(inout bit<8> x) {
    action a() { }
    table t {
        key: { x : exact; }
        actions { a; NoAction; }
        const entries { 1 : a(); }
        default_action = a();
    }
    apply { t.apply(); }
}
