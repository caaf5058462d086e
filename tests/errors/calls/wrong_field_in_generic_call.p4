#include <core.p4>
header h_t { bit<8> x; }
struct headers_t { h_t first; }
parser P(packet_in p, out headers_t h) {
    state start { p.extract(h.frist); transition accept; }
}
