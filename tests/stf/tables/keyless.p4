// A table without a key always misses and runs its default action.

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
        actions = {
            set;
        }
        default_action = set(3);
    }

    table empty_key {
        key = {}
        actions = {
            set;
            NoAction;
        }
        default_action = NoAction();
    }

    apply {
        if (chosen.apply().miss) {
            hdr.input.result = hdr.input.result | 0x10;
        }
        empty_key.apply();
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
