// A resubmitted packet begins again as it came in, with the metadata of the field list.

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
    bit<8> round;
    bit<8> lost;
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.input.a = hdr.input.a + 0x10;
        meta.round = meta.round + 1;
        meta.lost = meta.lost + 1;
        hdr.input.b = meta.round;
        hdr.input.c = meta.lost;
        standard_metadata.egress_spec = 2;
        if (meta.round < 4) {
            resubmit_preserving_field_list(1);
        }
    }
}

#include "../include/skeleton.p4"
