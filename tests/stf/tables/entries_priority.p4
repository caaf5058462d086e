// Entries with priorities: the largest wins; an entry without one has one less than the entry before it.

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
        @noWarn("entries_out_of_priority_order")
        entries = {
            const priority = 10: 0x10 &&& 0xF0: set(1);
            priority = 20: 0x12: set(2);
            0x02 &&& 0x0F: set(3);
            const priority = 5: _: set(4);
        }
    }

    apply {
        chosen.apply();
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
