// An entry with a profile that has no time stays.
#include <v1model.p4>
#include <forebay.p4>

header input_t {
    bit<8> key;
    bit<8> value;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    action known() {
        hdr.input.value = 1;
    }

    action learn() {
        add_entry("known", {}, 8w9);
        hdr.input.value = 0;
    }

    table flows {
        key = {
            hdr.input.key: exact;
        }
        actions = {
            known;
            @defaultonly learn;
        }
        const default_action = learn();
        add_on_miss = true;
    }

    apply {
        standard_metadata.egress_spec = 2;
        flows.apply();
    }
}

#define INGRESS TestIngress
#include "../include/skeleton.p4"
