// A packet is multicast and cloned: the copies of both leave, with their instance types.

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
        hdr.input.a = 9;
        standard_metadata.mcast_grp = 5;
        clone(CloneType.I2E, 7);
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.input.c = (bit<8>)standard_metadata.instance_type;
    }
}

#include "../include/skeleton.p4"
