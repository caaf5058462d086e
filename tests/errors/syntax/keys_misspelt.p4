#include <core.p4>
control C(in bit<8> x) {
    table t { keys = { x: exact; } action = { NoAction; } entry = { 1: NoAction(); } }
    table u { reads { x: exact; } acts = { NoAction; } }
    apply { t.apply(); u.apply(); }
}
