// Several registers of different types in ingress and egress, also two of one name in different controls.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
    bit<8> result;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    register<bit<8>>(2) first;
    register<int<16>>(2) second;

    apply {
        int<16> level;
        second.read(level, 1);
        level = level - 1;
        second.write(1, level);
        first.read(hdr.input.b, 1);
        first.write(1, hdr.input.a);
        hdr.input.result = level[7:0];
        standard_metadata.egress_spec = 2;
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    register<bit<8>>(2) first;

    apply {
        bit<8> count;
        first.read(count, 1);
        first.write(1, count + 1);
        hdr.input.result = hdr.input.result - count;
    }
}

#include "../include/skeleton.p4"
