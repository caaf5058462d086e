// exit in the action that a switch runs on: no case is executed, and inout arguments of the callers are copied.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

control Inner(inout bit<8> value) {
    action leave() {
        value = value + 1;
        exit;
    }

    action stay() {
        value = value + 2;
    }

    table chosen {
        key = {
            value: exact;
        }
        actions = {
            leave;
            stay;
        }
        default_action = stay();
        const entries = {
            5: leave();
        }
    }

    apply {
        switch (chosen.apply().action_run) {
            leave: { value = 0xEE; }
            stay: { value = value + 0x10; }
        }
    }
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    Inner() inner;

    apply {
        standard_metadata.egress_spec = 2;
        inner.apply(hdr.input.a);
        hdr.input.b = 0xBB;
    }
}

#include "../include/skeleton.p4"
