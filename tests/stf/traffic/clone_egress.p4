// A clone from egress carries the headers as egress left them, and goes through egress with instance_type 2.

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
        if (standard_metadata.instance_type == 2) {
            hdr.input.b = hdr.input.b + 1;
            hdr.input.c = (bit<8>)standard_metadata.egress_port;
        } else {
            clone(CloneType.E2E, 7);
            hdr.input.a = 0xAA;
            hdr.input.b = 0x10;
        }
    }
}

#include "../include/skeleton.p4"
