#include <core.p4>
control C(inout bit<8> x) {
    action forward() { }
    table t { key = { x: exact; } actions = { foward; } }
    apply { t.apply(); }
}
