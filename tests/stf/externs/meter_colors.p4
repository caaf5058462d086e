// A meter colours packets by its two buckets: green while both have tokens, then yellow, then red.

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
    meter(4, MeterType.packets) rate;

    apply {
        rate.execute_meter((bit<32>)hdr.input.a, hdr.input.result);
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
