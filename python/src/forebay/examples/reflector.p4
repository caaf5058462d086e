// Sends each packet back by the port where it came.

#include <core.p4>
#include <v1model.p4>

struct headers_t {}
struct metadata_t {}

parser Nothing(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        transition accept;
    }
}

control Reflect(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        standard_metadata.egress_spec = standard_metadata.ingress_port;
    }
}

control NoEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {}
}

control NoChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control NoHeaders(packet_out packet, in headers_t hdr) {
    apply {}
}

V1Switch(Nothing(), NoChecksum(), Reflect(), NoEgress(), NoChecksum(), NoHeaders()) main;
