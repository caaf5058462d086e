#include <core.p4>
control C(in bit<32> x) {
    table t {
        key = { x: exact; }
        actions = { NoAction; }
        const entries = { "10.0.0.1": NoAction(); }
    }
    apply { t.apply(); }
}
