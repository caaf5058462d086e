#include <core.p4>
control C(inout bit<8> x) {
    action a() { }
    table t { key = { x: exact; } actions = { @defaultonly a; } const entries = { 1: a(); } }
    apply { t.apply(); }
}
