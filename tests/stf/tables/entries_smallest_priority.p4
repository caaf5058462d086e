// largest_priority_wins = false: the smallest number wins, and numbers grow by priority_delta, wherever these stand.

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

    table said_behind {
        key = {
            hdr.input.b: ternary;
        }
        actions = {
            set;
            NoAction;
        }
        entries = {
            const priority = 5: 0x11: set(5);
            0x10 &&& 0xF0: set(6);
            0x01 &&& 0x0F: set(7);
            0x01 &&& 0x01: set(8);
            0x02 &&& 0x02: set(9);
            0x04 &&& 0x04: set(10);
            0x08 &&& 0x08: set(11);
        }
        largest_priority_wins = false;
    }

    apply {
        chosen.apply();
        said_behind.apply();
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
