// A register declared at the top level is one object for ingress and egress.

#include <v1model.p4>

register<bit<8>>(1) total;

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
    apply {
        bit<8> value;
        total.read(value, 0);
        hdr.input.b = value;
        total.write(0, value + hdr.input.a);
        standard_metadata.egress_spec = 2;
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        total.read(hdr.input.result, 0);
        total.write(0, hdr.input.result + 1);
    }
}

#include "../include/skeleton.p4"
