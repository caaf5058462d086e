// A clone from ingress to a port that is not attached goes through egress, which clones it again.

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
        hdr.input.a = 0xAA;
        standard_metadata.egress_spec = 2;
        clone(CloneType.I2E, 7);
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (standard_metadata.instance_type == 1) {
            hdr.input.b = 1;
            clone(CloneType.E2E, 8);
        }
        if (standard_metadata.instance_type == 2) {
            hdr.input.c = 2;
        }
    }
}

#include "../include/skeleton.p4"
