// A packet is cloned in ingress; of both, the one that is not a clone is cloned in egress again.

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
        standard_metadata.egress_spec = 2;
        hdr.input.a = 0x11;
        clone(CloneType.I2E, 7);
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.input.b = hdr.input.b << 4 | 8 | (bit<8>)standard_metadata.instance_type;
        if (standard_metadata.instance_type == 0) {
            clone(CloneType.E2E, 8);
        }
    }
}

#include "../include/skeleton.p4"
