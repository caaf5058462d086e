// Key expressions with calls are evaluated once, in order, before the look-up; the action sees their effects.

#include <v1model.p4>

bit<8> next(inout bit<8> value) {
    value = value + 1;
    return value;
}

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
            next(hdr.input.b): exact @name("first");
            next(hdr.input.b): exact @name("second");
        }
        actions = {
            set;
        }
        default_action = set(0xFF);
    }

    apply {
        chosen.apply();
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
