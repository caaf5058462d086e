// Constant entries of an exact-match table, with actions that have data and one that has none.

#include <v1model.p4>

const bit<8> FOUR = 4;

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

    action copy() {
        hdr.input.result = hdr.input.a;
    }

    table chosen {
        key = {
            hdr.input.a: exact;
            hdr.input.b: exact;
        }
        actions = {
            set;
            copy;
        }
        default_action = set(0xFF);
        const entries = {
            (1, 2): set(0x12);
            (0x10, FOUR): copy();
            (3 + 4, 2): set(FOUR * 2);
        }
    }

    apply {
        chosen.apply();
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
