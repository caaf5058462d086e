#include <core.p4>
header h_t { bit<8> a; bit<8> b; }
parser P(packet_in p, out h_t h) {
    state start {
        p.extract(h);
        transition select(h.a, h.b) { (1, 2, 3): accept; default: reject; }
    }
}
