#include <core.p4>
header ipv4_t { bit<8> ttl; }
struct headers { ipv4_t ipv4; }
struct metadata { bit<8> seen; }
parser P(packet_in packet, out headers hdr) {
    state start { packet_in.extract(hdr.ipv4); transition accept; }
}
control C(inout headers hdr, inout metadata meta) {
    apply {
        headers.ipv4.ttl = 1;
        metadata.seen = ipv4_t.ttl;
        if (ipv4_t.isValid()) { meta.seen = 1; }
    }
}
