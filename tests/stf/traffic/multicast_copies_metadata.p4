// Copies of a multicast packet keep user metadata and headers as ingress left them, and do not share them.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
    bit<8> c;
}

struct headers_t {
    input_t input;
}

struct meta_t {
    bit<8> value;
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        meta.value = hdr.input.a;
        hdr.input.b = 7;
        standard_metadata.mcast_grp = 5;
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        meta.value = meta.value + (bit<8>)standard_metadata.egress_rid;
        hdr.input.a = meta.value;
        hdr.input.c = hdr.input.b + 1;
    }
}

#include "../include/skeleton.p4"
