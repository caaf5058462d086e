// Each round pushes a header in front; the parser of the next round reads it.

#include <v1model.p4>

header input_t {
    bit<8> count;
}

struct headers_t {
    input_t pushed;
    input_t input;
}

struct meta_t {}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        standard_metadata.egress_spec = 2;
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (hdr.input.count < 3) {
            hdr.pushed.setValid();
            hdr.pushed.count = hdr.input.count + 1;
            recirculate_preserving_field_list(0);
        }
    }
}

#include "../include/skeleton.p4"
