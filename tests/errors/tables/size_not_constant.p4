#include <core.p4>
control C(inout bit<8> x) {
    action a() { }
    table t { key = { x: exact; } actions = { a; } size = x; }
    apply { t.apply(); }
}
