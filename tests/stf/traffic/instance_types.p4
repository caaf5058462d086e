// instance_type in ingress is 0, 6 after a resubmit and 4 after a recirculation; in egress of these it is 0 again.

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
        hdr.input.a = hdr.input.a << 4 | (bit<8>)standard_metadata.instance_type;
        standard_metadata.egress_spec = 2;
        if (standard_metadata.instance_type == 0) {
            resubmit_preserving_field_list(0);
        }
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.input.b = hdr.input.b << 4 | 8 | (bit<8>)standard_metadata.instance_type;
        if (hdr.input.c == 0) {
            hdr.input.c = 1;
            recirculate_preserving_field_list(0);
        }
    }
}

#include "../include/skeleton.p4"
