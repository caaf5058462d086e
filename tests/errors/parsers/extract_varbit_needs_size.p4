#include <core.p4>
header h_t { varbit<32> v; }
parser P(packet_in p, out h_t h) {
    state start { p.lookahead<h_t>(); transition accept; }
}
