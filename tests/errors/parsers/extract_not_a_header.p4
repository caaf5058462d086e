#include <core.p4>
struct s_t { bit<8> x; }
parser P(packet_in p, out s_t s) {
    state start { p.extract(s); transition accept; }
}
