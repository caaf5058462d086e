// A multicast copy for a port that is not attached goes through egress, which recirculates it.

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
        } else {
            standard_metadata.egress_spec = 3;
        }
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (standard_metadata.egress_port == 77) {
            hdr.input.a = 1;
            recirculate_preserving_field_list(0);
        }
    }
}

#include "../include/skeleton.p4"
