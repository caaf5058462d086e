// A switch on the action that ran, with fall-through and default, on hits and misses.

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
    action one() {}

    action two() {}

    action three(bit<8> value) {
        hdr.input.b = value;
    }

    action four() {}

    table chosen {
        key = {
            hdr.input.a: exact;
        }
        actions = {
            one;
            two;
            three;
            four;
        }
        default_action = four();
    }

    apply {
        switch (chosen.apply().action_run) {
            one:
            two: { hdr.input.result = 0x12; }
            three: { hdr.input.result = 0x30; }
            default: { hdr.input.result = 0xDD; }
        }
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
