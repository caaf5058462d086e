#include <core.p4>
control C(inout bit<8> x) {
    action drop() { x = 0; }
    table t { key = { x : exact; } actions = { dorp; NoAction; } default_action = drop(); }
    apply { t.apply(); }
}
