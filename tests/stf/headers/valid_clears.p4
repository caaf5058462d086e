// A header that becomes valid has zero in all its fields, whatever it held before (as in BMv2); one that is valid keeps them.

#include <v1model.p4>

header pair_t {
    bit<8> first;
    bit<8> second;
}

struct headers_t {
    pair_t again;
    pair_t kept;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.again);
        packet.extract(hdr.kept);
        transition accept;
    }
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (hdr.again.first == 0xAA) {
            hdr.again.setInvalid();
        }
        hdr.again.setValid();
        hdr.again.first = 1;
        hdr.kept.setValid();
        hdr.kept.first = 2;
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
