#include <core.p4>
control C(inout bit<8> x) {
    action set(bit<8> v) { x = v; }
    table t { key = { x: exact; } actions = { set; } const entries = { (1, 2): set(1); } }
    apply { t.apply(); }
}
