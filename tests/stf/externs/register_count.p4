// A register keeps its value from packet to packet; its elements begin as 0 and are independent.

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
    register<bit<8>>(256) seen;

    apply {
        bit<8> count;
        seen.read(count, (bit<32>)hdr.input.a);
        count = count + 1;
        seen.write((bit<32>)hdr.input.a, count);
        hdr.input.result = count;
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
