// Egress runs for a port that is not attached: a packet that it recirculates is not lost.

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
        standard_metadata.egress_spec = hdr.input.a == 0 ? 9w77 : 9w2;
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (standard_metadata.egress_port == 77) {
            hdr.input.a = 1;
            recirculate_preserving_field_list(0);
        }
    }
}

#include "../include/skeleton.p4"
