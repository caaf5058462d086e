// An action with a directed parameter is bound in the table; entries give the rest.

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
    action add(inout bit<8> target, bit<8> amount) {
        target = target + amount;
    }

    table chosen {
        key = {
            hdr.input.a: exact;
        }
        actions = {
            add(hdr.input.result);
        }
        default_action = add(hdr.input.result, 1);
    }

    apply {
        chosen.apply();
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
