// Two tables applied in one expression run from left to right.

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
    action set(bit<4> value) {
        hdr.input.result = hdr.input.result[3:0] ++ value;
    }

    table first {
        key = {
            hdr.input.a: exact;
        }
        actions = {
            set;
        }
        default_action = set(0xE);
    }

    table second {
        key = {
            hdr.input.b: exact;
        }
        actions = {
            set;
        }
        default_action = set(0xF);
    }

    apply {
        if (first.apply().hit == second.apply().hit) {
            hdr.input.a = hdr.input.a | 0x80;
        }
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
