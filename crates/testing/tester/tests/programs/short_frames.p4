// Forwards frames of at most 100 bytes from port 1 to port 2, as a device with a small MTU does.

#include <core.p4>
#include <v1model.p4>

struct headers_t {}

struct metadata_t {}

parser ShortParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        transition accept;
    }
}

control ShortVerifyChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control ShortIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        standard_metadata.egress_spec = 2;
        if (standard_metadata.packet_length > 100) {
            mark_to_drop(standard_metadata);
        }
    }
}

control ShortEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {}
}

control ShortComputeChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control ShortDeparser(packet_out packet, in headers_t hdr) {
    apply {}
}

V1Switch(ShortParser(), ShortVerifyChecksum(), ShortIngress(), ShortEgress(), ShortComputeChecksum(), ShortDeparser()) main;
