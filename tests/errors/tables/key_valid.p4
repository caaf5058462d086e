#include <core.p4>
header h_t { bit<8> ttl; }
control C(inout h_t h) {
    table t { key = { h : valid; } actions = { NoAction; } }
    apply { t.apply(); }
}
