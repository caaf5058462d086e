// A switch on the action that ran, without a default: an action that is not named does nothing more.

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

    action skip() {
        hdr.input.result = 0x55;
    }

    table chosen {
        key = {
            hdr.input.a: exact;
        }
        actions = {
            set;
            skip;
            NoAction;
        }
        default_action = NoAction();
    }

    apply {
        switch (chosen.apply().action_run) {
            set: { hdr.input.result = hdr.input.result + 0x10; }
        }
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
