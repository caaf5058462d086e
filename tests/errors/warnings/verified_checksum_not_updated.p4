// That `sum` is a checksum is told by the program verifying it.
#include <core.p4>
#include <v1model.p4>
header ipv4_t { bit<8> ttl; bit<8> protocol; bit<16> sum; }
struct H { ipv4_t ipv4; }
struct M { }
parser P(packet_in p, out H hdr, inout M m, inout standard_metadata_t s) { state start { p.extract(hdr.ipv4); transition accept; } }
control V(inout H hdr, inout M m) {
    apply {
        verify_checksum(hdr.ipv4.isValid(), { hdr.ipv4.ttl, hdr.ipv4.protocol }, hdr.ipv4.sum, HashAlgorithm.csum16);
    }
}
control I(inout H hdr, inout M m, inout standard_metadata_t s) {
    apply {
        s.egress_spec = 1;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
    }
}
control E(inout H hdr, inout M m, inout standard_metadata_t s) { apply { } }
control C(inout H hdr, inout M m) { apply { } }
control D(packet_out p, in H hdr) { apply { p.emit(hdr); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;
