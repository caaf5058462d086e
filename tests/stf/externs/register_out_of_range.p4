// A write outside a register changes nothing, neither there nor elsewhere.

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
    register<bit<8>>(4) cells;

    apply {
        cells.write((bit<32>)hdr.input.a, hdr.input.b);
        cells.read(hdr.input.result, (bit<32>)hdr.input.a & 3);
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
