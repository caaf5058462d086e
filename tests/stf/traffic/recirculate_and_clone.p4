// A packet is cloned in egress and recirculated; both begin from the same headers.

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
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (standard_metadata.instance_type == 0 && hdr.input.a == 0) {
            hdr.input.a = 1;
            clone(CloneType.E2E, 7);
            recirculate_preserving_field_list(0);
        } else if (standard_metadata.instance_type == 2) {
            hdr.input.b = 0xCC;
        } else {
            hdr.input.b = 0xDD;
        }
    }
}

#include "../include/skeleton.p4"
