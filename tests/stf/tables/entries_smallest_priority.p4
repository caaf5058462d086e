// largest_priority_wins = false: the smallest number wins, and numbers grow by priority_delta.

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
        }
        actions = {
            set;
        }
        default_action = set(0xFF);
        largest_priority_wins = false;
        priority_delta = 10;
        entries = {
            const priority = 10: 0x11: set(1);
            0x10 &&& 0xF0: set(2);
            priority = 40: 0x01 &&& 0x0F: set(3);
            0x00 &&& 0x00: set(4);
        }
    }

    apply {
        chosen.apply();
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
