// Headers that end inside a byte are joined without gaps.

#include <v1model.p4>

header input_t {
    bit<4> low;
    bit<4> high;
}

header flags_t {
    bit<1> flag;
    bit<3> code;
}

header nine_t {
    bit<12> value;
}

struct headers_t {
    flags_t flags;
    input_t input;
    nine_t nine;
}

struct meta_t {}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.flags = { 1, 5 };
        hdr.nine = { 0xABC };
        if (hdr.input.low == 0xF) {
            hdr.nine.setInvalid();
            hdr.flags.setInvalid();
        }
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
