// The nearest name by spelling is an action's, which has no apply().
#include <core.p4>

control C(in bit<8> x) {
    action allow() {}
    table allowed {
        key = { x: exact; }
        actions = { allow; NoAction; }
    }
    apply { allowd.apply(); }
}
