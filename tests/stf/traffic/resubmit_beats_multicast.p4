// A packet that is resubmitted and multicast is resubmitted alone.

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
        hdr.input.a = (bit<8>)standard_metadata.instance_type;
        if (standard_metadata.instance_type == 0) {
            standard_metadata.mcast_grp = 5;
            resubmit_preserving_field_list(0);
        } else {
            standard_metadata.egress_spec = 2;
        }
    }
}

#include "../include/skeleton.p4"
