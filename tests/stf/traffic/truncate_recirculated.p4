// What is truncated in egress stays short when it is recirculated.

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
        standard_metadata.egress_spec = 2;
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (hdr.input.a == 0) {
            hdr.input.a = 1;
            truncate(4);
            recirculate_preserving_field_list(0);
        }
        hdr.input.b = standard_metadata.packet_length[7:0];
    }
}

#include "../include/skeleton.p4"
