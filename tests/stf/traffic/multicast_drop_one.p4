// Egress drops some of the copies of a multicast packet.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
    bit<8> c;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        standard_metadata.mcast_grp = 5;
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (standard_metadata.egress_rid == 20 || standard_metadata.egress_port == 2) {
            mark_to_drop(standard_metadata);
        }

        hdr.input.b = (bit<8>)standard_metadata.egress_rid;
        hdr.input.c = (bit<8>)standard_metadata.egress_port;
    }
}

#include "../include/skeleton.p4"
