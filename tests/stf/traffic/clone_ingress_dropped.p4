// The clone lives on when the original is dropped; the last clone call decides the session.

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
        clone(CloneType.I2E, 8);
        clone(CloneType.I2E, 7);
        mark_to_drop(standard_metadata);
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.input.c = (bit<8>)standard_metadata.instance_type;
    }
}

#include "../include/skeleton.p4"
