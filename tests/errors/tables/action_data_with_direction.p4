#include <core.p4>
control C(inout bit<48> mac, inout bit<9> port) {
    action forward(in bit<48> next, in bit<9> out_port) { mac = next; port = out_port; }
    table t { key = { mac : exact; } actions = { forward; NoAction; } }
    apply { t.apply(); }
}
