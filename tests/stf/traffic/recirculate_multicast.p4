// Every copy of a multicast packet may be recirculated by itself.

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
        if (standard_metadata.instance_type == 4) {
            standard_metadata.egress_spec = 6 + (bit<9>)hdr.input.a;
        } else {
            standard_metadata.mcast_grp = 5;
        }
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (standard_metadata.instance_type == 5) {
            hdr.input.a = (bit<8>)standard_metadata.egress_rid;
            hdr.input.b = (bit<8>)standard_metadata.egress_port;
            recirculate_preserving_field_list(0);
        }
    }
}

#include "../include/skeleton.p4"
