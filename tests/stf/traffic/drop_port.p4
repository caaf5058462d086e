// Port 511 is the drop port: assigning it drops as mark_to_drop does, in ingress and in egress.

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
        standard_metadata.egress_spec = hdr.input.a == 1 ? 9w511 : 9w2;
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (hdr.input.a == 2) {
            standard_metadata.egress_spec = 511;
        } else {
            standard_metadata.egress_spec = 3;
        }
    }
}

#include "../include/skeleton.p4"
