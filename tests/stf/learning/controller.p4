// A controller's entries and those that the data plane adds are in one table, and never replace one another.
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
    action hit(bit<8> value) {
        hdr.input.value = value;
    }

    action miss() {
        bool added = add_entry("hit", hdr.input.value, 8w4);
        hdr.input.value = added ? 8w0xff : 8w0;
    }

    table flows {
        key = {
            hdr.input.key: exact;
        }
        actions = {
            hit;
            @defaultonly miss;
        }
        add_on_miss = true;
        const default_action = miss();
    }

    apply {
        standard_metadata.egress_spec = 2;
        flows.apply();
    }
}

#define INGRESS TestIngress
#include "../include/skeleton.p4"
