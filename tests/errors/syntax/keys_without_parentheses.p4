#include <core.p4>
header h_t { bit<8> a; bit<8> b; }
parser P(packet_in p, out h_t h) {
    state start {
        p.extract(h);
        transition select(h.a) {
            1, 2: accept;
            default: reject;
        }
    }
}
control C(inout h_t h) {
    table t {
        key = { h.a : exact; h.b : exact; }
        actions = { NoAction; }
        const entries = { 1, 2 : NoAction(); }
    }
    apply { t.apply(); }
}
