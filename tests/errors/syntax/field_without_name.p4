#include <core.p4>
header ethernet_t { bit<16> ether_type; }
header ipv4_t { bit<8> ttl; bit<8>; }
struct headers_t {
    ethernet_t;
    ipv4_t;
}
control C(inout headers_t hdr) {
    apply {
        if (hdr.ethernet.isValid()) { hdr.ipv4.ttl = hdr.ipv4.protocol; }
    }
}
