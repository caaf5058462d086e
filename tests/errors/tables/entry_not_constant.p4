#include <core.p4>
control C(inout bit<8> x, in bit<8> y) {
    action set(bit<8> v) { x = v; }
    table t { key = { x: exact; } actions = { set; } const entries = { y: set(1); } }
    apply { t.apply(); }
}
