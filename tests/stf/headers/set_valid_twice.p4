// setValid on a valid header changes nothing: its fields keep their values.

#include <v1model.p4>

header pair_t {
    bit<8> first;
    bit<8> second;
}

struct headers_t {
    pair_t input;
}

struct meta_t {}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.input.first = 0x77;
        hdr.input.setValid();
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
