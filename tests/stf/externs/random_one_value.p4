// random between equal bounds has one value.

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
    apply {
        random(hdr.input.result, hdr.input.a, hdr.input.a);
        bit<16> wide;
        random(wide, 16w1000, 16w1000);
        hdr.input.b = wide[9:2];
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
