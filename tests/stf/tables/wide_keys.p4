// 128-bit keys: exact, longest prefix with lengths on both sides of 64, and ternary.

#include <v1model.p4>

header input_t {
    bit<128> address;
    bit<8> result;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    action set(bit<4> high) {
        hdr.input.result[7:4] = high;
    }

    action add(bit<8> value) {
        hdr.input.result = hdr.input.result + value;
    }

    table exact_table {
        key = {
            hdr.input.address: exact;
        }
        actions = {
            set;
        }
        default_action = set(0xF);
    }

    table prefix_table {
        key = {
            hdr.input.address: lpm;
        }
        actions = {
            add;
        }
        default_action = add(0);
    }

    table ternary_table {
        key = {
            hdr.input.address: ternary;
        }
        actions = {
            add;
        }
        default_action = add(8);
    }

    apply {
        exact_table.apply();
        prefix_table.apply();
        ternary_table.apply();
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
