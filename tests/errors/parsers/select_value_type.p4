#include <core.p4>
header h_t { bit<8> a; }
parser P(packet_in p, out h_t h) {
    state start {
        p.extract(h);
        transition select(h.a) { true: accept; default: reject; }
    }
}
