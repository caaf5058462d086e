// An action that a table runs exits: the rest of the expression and of the control is not executed.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    action leave() {
        hdr.input.b = 0xEE;
        exit;
    }

    action stay() {
        hdr.input.b = 0x55;
    }

    table chosen {
        key = {
            hdr.input.b: exact;
        }
        actions = {
            leave;
            stay;
        }
        const entries = {
            1: leave();
            2: stay();
        }
        const default_action = stay();
    }

    apply {
        standard_metadata.egress_spec = 2;
        if (chosen.apply().hit) {
            hdr.input.a = 0x11;
        } else {
            hdr.input.a = 0x22;
        }
    }
}

#include "../include/skeleton.p4"
