// random stays between its bounds, both included: of a hundred numbers none is outside, and both ends come up.

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
        bit<8> number;
        bool low = false;
        bool high = false;
        hdr.input.result = 0;
        for (bit<8> i in 8w1 .. 100) {
            random(number, hdr.input.a, hdr.input.b);
            if (number < hdr.input.a || number > hdr.input.b) {
                hdr.input.result = 0xEE;
            }
            low = low || number == hdr.input.a;
            high = high || number == hdr.input.b;
        }
        if (low && high) {
            hdr.input.result = hdr.input.result | 1;
        }
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
