#include <core.p4>
struct s_t { bit<8> a; }
control C(in s_t s) {
    action a() { }
    table t { key = { s: exact; } actions = { a; } }
    apply { t.apply(); }
}
