#include <core.p4>
control C(in bit<32> x, out bit<32> y) {
    table t {
        key = { x: ternary; }
        actions = { NoAction; }
        const entries = {
            10.0.0.0/8: NoAction();
            192.168.1.0 &&& 0xffffff00: NoAction();
        }
    }
    apply { t.apply(); y = 10.0.0.1; }
}
