// A clone from ingress is the packet as it came in; it goes through egress with instance_type 1.

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
        hdr.input.c = (bit<8>)standard_metadata.instance_type;
    }
}

#include "../include/skeleton.p4"
