// A session may name a multicast group: a clone for each of its ports.

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
        standard_metadata.egress_spec = 6;
        clone(CloneType.I2E, 7);
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.input.b = (bit<8>)standard_metadata.egress_rid;
        hdr.input.c = (bit<8>)standard_metadata.egress_port;
    }
}

#include "../include/skeleton.p4"
