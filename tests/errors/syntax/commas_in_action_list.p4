#include <core.p4>
control C(inout bit<8> x) {
    action a() { }
    action b() { }
    table t { key = { x: exact; } actions = { a, b, NoAction } }
    apply { t.apply(); }
}
