// Constant entries of a ternary table are tried in the order of the program.

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
    action set(bit<8> value) {
        hdr.input.result = value;
    }

    table chosen {
        key = {
            hdr.input.a: ternary;
            hdr.input.b: ternary;
        }
        actions = {
            set;
        }
        default_action = set(0xFF);
        const entries = {
            (0x10 &&& 0xF0, 1): set(1);
            (0x12, _): set(2);
            (_, 0x80 &&& 0x80): set(3);
            (0x10 &&& 0xF0, _): set(4);
            _: set(5);
        }
    }

    apply {
        chosen.apply();
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
