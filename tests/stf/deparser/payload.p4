// The payload is what the parser did not read, of any length, also none.

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
        hdr.input.value = ~hdr.input.value;
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
