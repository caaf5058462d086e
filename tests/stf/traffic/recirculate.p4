// A recirculated packet begins again as the deparser made it; metadata of the field list counts its rounds.

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
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        meta.round = meta.round + 1;
        hdr.input.b = hdr.input.b + 1;
        standard_metadata.egress_spec = 2;
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.input.c = hdr.input.c + 0x10;
        if (meta.round < 3) {
            recirculate_preserving_field_list(1);
        }
    }
}

#include "../include/skeleton.p4"
