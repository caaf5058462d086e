#include <core.p4>
parser P(packet_in p) {
    state start { transition parse_ipv6; }
    state parse_ipv4 { transition accept; }
}
