// exit in egress ends egress; checksums are computed and the packet is deparsed.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.input.b = 0x10;
        if (hdr.input.a == 1) {
            exit;
        }
        hdr.input.b = 0x20;
    }
}

#include "../include/skeleton.p4"
