// A port assigned after mark_to_drop undoes the drop; the last assignment decides.

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
        mark_to_drop(standard_metadata);
        if (hdr.input.a == 1) {
            standard_metadata.egress_spec = 3;
        } else if (hdr.input.a == 2) {
            standard_metadata.egress_spec = 3;
            mark_to_drop(standard_metadata);
        }
    }
}

#include "../include/skeleton.p4"
