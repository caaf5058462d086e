#include <core.p4>
control C(inout bit<8> x) {
    action again() {
        t.apply();
    }
    table t {
        key = { x: exact; }
        actions = { again; NoAction; }
        default_action = NoAction();
    }
    apply {
        t.apply();
    }
}
