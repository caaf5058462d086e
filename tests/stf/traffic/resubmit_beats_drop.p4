// resubmit comes before multicast and drop: the first pass asks for both, the second one forwards.

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
        if (standard_metadata.instance_type == 6) {
            standard_metadata.egress_spec = 2;
        } else {
            resubmit_preserving_field_list(0);
            standard_metadata.mcast_grp = 5;
            standard_metadata.egress_spec = 511;
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
