// A register of signed values keeps their sign.

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
    register<int<7>>(2) level;

    apply {
        int<7> value;
        level.read(value, 0);
        value = value - (int<7>)hdr.input.a[6:0];
        level.write(0, value);
        hdr.input.result = (bit<8>)(int<8>)value;
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
