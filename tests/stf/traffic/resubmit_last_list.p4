// Of several resubmit calls the last one decides which metadata is kept.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
    bit<8> c;
}

struct headers_t {
    input_t input;
}

struct meta_t {
    @field_list(1)
    bit<8> one;
    @field_list(2)
    bit<8> two;
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (standard_metadata.instance_type == 0) {
            meta.one = 1;
            meta.two = 2;
            resubmit_preserving_field_list(1);
            resubmit_preserving_field_list(2);
        }
        hdr.input.a = meta.one;
        hdr.input.b = meta.two;
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
