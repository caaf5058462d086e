#include <core.p4>
control C(in bit<8> x) {
    action a() { }
    table t { key = { x: exact; } actions = { a; NoAction; } }
    apply { switch (t.apply()) { a: { } } }
}
