// mcast_grp has no effect in egress.

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

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.input.a = hdr.input.a + 1;
        standard_metadata.mcast_grp = 5;
    }
}

#include "../include/skeleton.p4"
