#include <core.p4>
header h_t { bit<8> length; varbit<64> options; }
parser P(packet_in p, out h_t h) {
    state start { h = p.lookahead<h_t>(); transition accept; }
}
