// The same control twice: its tables have the instances' names, the actions belong to their table.

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

control Lookup(inout input_t input) {
    action set(bit<8> value) {
        input.result = input.result << 4 | value;
    }

    table chosen {
        key = {
            input.a: exact;
        }
        actions = {
            set;
        }
        default_action = set(0);
    }

    apply {
        chosen.apply();
    }
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    Lookup() first;
    Lookup() second;

    apply {
        first.apply(hdr.input);
        second.apply(hdr.input);
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
