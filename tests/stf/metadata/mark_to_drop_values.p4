// mark_to_drop sets egress_spec to 511 and mcast_grp to 0, and both can be read.

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
        standard_metadata.mcast_grp = 5;
        mark_to_drop(standard_metadata);
        hdr.input.a = standard_metadata.egress_spec[8:1];
        hdr.input.b = (bit<8>)standard_metadata.mcast_grp;
        hdr.input.c = (bit<8>)standard_metadata.egress_spec[0:0];
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
