// Constant entries with optional keys.

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
            hdr.input.a: optional;
            hdr.input.b: optional;
        }
        actions = {
            set;
        }
        default_action = set(0xFF);
        const entries = {
            (47, 72): set(1);
            (_, 72): set(2);
            (49, _): set(3);
        }
    }

    apply {
        chosen.apply();
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
