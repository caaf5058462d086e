// The results hit and miss of a table in conditions, in a negation and in an assignment.

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

    table first {
        key = {
            hdr.input.a: exact;
        }
        actions = {
            set;
        }
        default_action = set(0);
    }

    table second {
        key = {
            hdr.input.b: exact;
        }
        actions = {
            set;
        }
        default_action = set(0x40);
    }

    apply {
        bool found = first.apply().hit;
        if (!found && !second.apply().miss) {
            hdr.input.result = hdr.input.result | 4;
        } else if (found) {
            hdr.input.result = hdr.input.result | 0x80;
        } else {
            hdr.input.result = hdr.input.result | 4;
        }
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
