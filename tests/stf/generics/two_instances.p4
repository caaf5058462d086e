// A control type with a register and a table, instantiated twice: each instance has its own.

#include <v1model.p4>

header input_t {
    bit<8> which;
    bit<8> count;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

control Count(inout input_t input, in bit<8> step) {
    register<bit<8>>(1) seen;

    action set_step(bit<8> value) {
        bit<8> old;
        seen.read(old, 0);
        input.count = old + value;
        seen.write(0, old + value);
    }

    table steps {
        key = {
            step: exact;
        }
        actions = {
            set_step;
        }
        default_action = set_step(1);
    }

    apply {
        steps.apply();
    }
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    Count() left;
    Count() right;

    apply {
        if (hdr.input.which == 0) {
            left.apply(hdr.input, hdr.input.which);
        } else {
            right.apply(hdr.input, hdr.input.which);
        }
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
