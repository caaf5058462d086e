// The metadata of two packets do not mix: one is recirculated while the other one passes.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> rounds;
}

struct headers_t {
    input_t input;
}

struct meta_t {
    @field_list(1)
    bit<8> rounds;
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        meta.rounds = meta.rounds + 1;
        hdr.input.rounds = meta.rounds;
        standard_metadata.egress_spec = (bit<9>)hdr.input.a;
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (meta.rounds < hdr.input.a) {
            recirculate_preserving_field_list(1);
        }
    }
}

#include "../include/skeleton.p4"
