// All headers removed and no payload: an empty packet leaves.

#include <v1model.p4>

header input_t {
    bit<8> value;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.input.setInvalid();
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
