#include <core.p4>
header h_t { bit<8> kind; }
parser P(packet_in p, out h_t h) {
    state start {
        p.extract(h);
        transition select(h.kind) {
            case 1: more;
            case 2: accept;
            default: reject;
        }
    }
    state more { transition accept; }
}
control C(inout h_t h) {
    action a() { }
    table t { key = { h.kind : exact; } actions = { a; NoAction; } }
    apply {
        switch (t.apply().action_run) {
            case a: { h.kind = 1; }
        }
    }
}
