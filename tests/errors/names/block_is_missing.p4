#include <core.p4>
#include <v1model.p4>

struct headers_t {}

struct meta_t {}

parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        transition accept;
    }
}

control V(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {}
}

control D(packet_out packet, in headers_t hdr) {
    apply {}
}

V1Switch(P(), V(), MyIngress(), E(), V(), D()) main;
