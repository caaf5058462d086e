#include <core.p4>
#include <v1model.p4>
header ipv4_t { bit<8> ttl; bit<8> protocol; bit<16> hdr_checksum; }
header udp_t { bit<16> source; bit<16> destination; bit<16> length; bit<16> checksum; }
struct headers_t { ipv4_t ipv4; udp_t udp; }
struct meta_t { }
parser P(packet_in p, out headers_t hdr, inout meta_t m, inout standard_metadata_t s) {
    state start {
        p.extract(hdr.ipv4);
        p.extract(hdr.udp);
        transition accept;
    }
}
control V(inout headers_t hdr, inout meta_t m) { apply { } }
control I(inout headers_t headers, inout meta_t m, inout standard_metadata_t s) {
    apply {
        s.egress_spec = 1;
        headers.ipv4.ttl = headers.ipv4.ttl - 1;
        headers.udp.source = 53;
        headers.udp.checksum = 0;
    }
}
control E(inout headers_t hdr, inout meta_t m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in headers_t hdr) { apply { p.emit(hdr); } }
V1Switch(P(), V(), I(), E(), V(), D()) main;
