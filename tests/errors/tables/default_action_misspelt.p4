#include <core.p4>
control C(in bit<8> x) {
    action a() { }
    table t { key = { x: exact; } actions = { a; NoAction; } defualt_action = a(); }
    table u { key = { x: exact; } actions = { a; NoAction; } defualt_action = a; }
    apply { t.apply(); u.apply(); }
}
