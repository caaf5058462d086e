// A clone keeps the metadata of its field list with the values from the end of ingress, and no other.

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
    @field_list(1, 2)
    bit<8> kept;
    bit<8> lost;
    @field_list(2)
    bit<8> other;
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        meta.kept = 1;
        meta.lost = 1;
        meta.other = 1;
        clone_preserving_field_list(CloneType.I2E, 7, 1);
        meta.kept = hdr.input.a;
        standard_metadata.egress_spec = 2;
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.input.a = meta.kept;
        hdr.input.b = meta.lost;
        hdr.input.c = meta.other;
    }
}

#include "../include/skeleton.p4"
