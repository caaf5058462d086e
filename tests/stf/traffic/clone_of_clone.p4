// A clone made in egress may be cloned again: three copies from a counter in its metadata.

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
    bit<8> generation;
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        standard_metadata.egress_spec = 2;
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.input.a = meta.generation;
        if (meta.generation < 3) {
            meta.generation = meta.generation + 1;
            clone_preserving_field_list(CloneType.E2E, 7, 1);
        }
    }
}

#include "../include/skeleton.p4"
