#include <core.p4>
header h_t { bit<8> a; }
parser P(packet_in p, out h_t h) {
    state start { p.extrct(h); transition accept; }
}
