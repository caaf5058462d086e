#include <core.p4>
control C(inout bit<8> x) {
    action a() { x = 1; }
    action b(bit<8> y) { x = y; }
    table t {
        key = { x : exact; }
        actions = { a; NoAction; }
        psa_empty_group_action = b(2);
    }
    table u {
        key = { x : exact; }
        actions = { a; b; NoAction; }
        psa_empty_group_action = 7;
    }
    apply { t.apply(); u.apply(); }
}
