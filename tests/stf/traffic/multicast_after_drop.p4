// mark_to_drop clears mcast_grp; a group that is set after it, or beside egress_spec 511, multicasts.

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
        if (hdr.input.a == 0) {
            standard_metadata.mcast_grp = 5;
            mark_to_drop(standard_metadata);
        } else if (hdr.input.a == 1) {
            mark_to_drop(standard_metadata);
            standard_metadata.mcast_grp = 5;
        } else {
            standard_metadata.egress_spec = 511;
            standard_metadata.mcast_grp = 5;
        }
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.input.c = (bit<8>)standard_metadata.instance_type;
    }
}

#include "../include/skeleton.p4"
