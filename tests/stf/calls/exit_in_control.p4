// exit ends ingress at once; the packet goes on to egress with what was set before.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        standard_metadata.egress_spec = 2;
        hdr.input.b = 1;
        if (hdr.input.a == 0) {
            exit;
        }
        hdr.input.b = 2;
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.input.a = hdr.input.a | 0x80;
    }
}

#include "../include/skeleton.p4"
