#include <core.p4>
control C(in bit<8> x) {
    action a() { }
    table t { key = { x: exact; } actions = { a; } }
    apply { switch (t.apply().action_run) { a: { } a: { } } }
}
