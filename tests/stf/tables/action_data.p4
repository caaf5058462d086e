// Action data of several widths, one of 128 bits; names choose the parameters, not their order.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<128> wide;
    bit<3> three;
    bit<5> five;
    int<8> negative;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    action set(bit<128> wide, bit<3> three, bit<5> five, int<8> negative) {
        hdr.input.wide = wide;
        hdr.input.three = three;
        hdr.input.five = five;
        hdr.input.negative = negative;
    }

    table chosen {
        key = {
            hdr.input.a: exact;
        }
        actions = {
            set;
            NoAction;
        }
        default_action = NoAction();
    }

    apply {
        chosen.apply();
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
