// A clone from egress keeps the metadata of its field list; the rest is zero.

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
    @field_list(3)
    bit<8> kept;
    bit<8> lost;
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        meta.kept = 5;
        meta.lost = 6;
        standard_metadata.egress_spec = 2;
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (standard_metadata.instance_type == 0) {
            clone_preserving_field_list(CloneType.E2E, 7, 3);
            meta.kept = meta.kept + 1;
        }
        hdr.input.a = meta.kept;
        hdr.input.b = meta.lost;
    }
}

#include "../include/skeleton.p4"
