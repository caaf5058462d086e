#include <core.p4>
header ipv4_t { bit<8> ttl; bit<8> protocol; }
struct headers_t { ipv4_t[2] ipv4; }
parser P(packet_in p, out headers_t hdr) {
    state start { p.extract(hdr.ipv4); transition accept; }
}
control C(inout headers_t hdr) {
    apply { if (hdr.ipv4.isValid()) { hdr.ipv4.ttl = hdr.ipv4.protocol; } }
}
