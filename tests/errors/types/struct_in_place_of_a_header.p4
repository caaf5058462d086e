#include <core.p4>
struct ipv4_t { bit<8> ttl; }
struct headers_t { ipv4_t ipv4; }
parser P(packet_in p, out headers_t hdr) {
    state start { p.extract(hdr.ipv4); transition accept; }
}
control C(inout headers_t hdr) {
    apply { if (hdr.ipv4.isValid()) { hdr.ipv4.ttl = 1; } }
}
control D(packet_out p, in headers_t hdr) { apply { p.emit(hdr.ipv4); } }
