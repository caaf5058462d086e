// A table on the right of && is applied only when the left side holds.

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
            hdr.input.b: exact;
        }
        actions = {
            set;
        }
        default_action = set(0xFF);
    }

    apply {
        if (hdr.input.a == 1 && chosen.apply().hit) {
            hdr.input.result = hdr.input.result | 0x80;
        }
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
