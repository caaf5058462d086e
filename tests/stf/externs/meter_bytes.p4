// A meter of bytes takes as many tokens as the packet has bytes.

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
    meter(1, MeterType.bytes) rate;

    apply {
        rate.execute_meter(0, hdr.input.result);
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
