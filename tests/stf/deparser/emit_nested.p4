// Emitting a structure emits the headers, stacks and unions in it, however deep.

#include <v1model.p4>

header input_t {
    bit<8> value;
}

header wide_t {
    bit<16> value;
}

header_union either_t {
    input_t narrow;
    wide_t wide;
}

struct inner_t {
    input_t first;
    either_t either;
}

struct headers_t {
    inner_t inner;
    input_t input;
    input_t[2] stack;
}

struct meta_t {}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (hdr.input.value == 1) {
            hdr.inner.first = { 0xA1 };
            hdr.inner.either.wide = { 0xB1B2 };
        } else {
            hdr.inner.either.narrow = { 0xC1 };
            hdr.stack[1] = { 0xD1 };
        }
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
