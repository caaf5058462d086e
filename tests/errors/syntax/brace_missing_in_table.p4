#include <core.p4>
control C(in bit<8> x) {
    table t {
        key = { x: exact; }
        actions = { NoAction; }
    table u {
        key = { x: exact; }
        actions = { NoAction; }
    }
    apply { t.apply(); u.apply(); }
}
control D(in bit<8> x) {
    table t {
        actions = { NoAction; }
    apply { t.apply(); }
}
