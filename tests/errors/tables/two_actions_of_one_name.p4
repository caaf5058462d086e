#include <core.p4>
action a() { }
control C(in bit<8> x) {
    action a() { }
    table t { key = { x: exact; } actions = { a; .a; } }
    apply { t.apply(); }
}
