#include <core.p4>
control C(in bit<8> x) {
    action a() { }
    table t { key = { x: exact; } default_action = a(); }
    apply { t.apply(); }
}
