// A pair whose entries have the same key is not added.
#include <v1model.p4>
#include <forebay.p4>

header input_t {
    bit<8> from;
    bit<8> to;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    action pass() {
        standard_metadata.egress_spec = 3;
    }

    action open() {
        add_entry_pair("pass", {}, "connections", { hdr.input.to, hdr.input.from }, "pass", {}, 8w0);
        standard_metadata.egress_spec = 2;
    }

    table connections {
        key = {
            hdr.input.from: exact;
            hdr.input.to: exact;
        }
        actions = {
            pass;
            @defaultonly open;
        }
        const default_action = open();
        add_on_miss = true;
    }

    apply {
        connections.apply();
    }
}

#define INGRESS TestIngress
#include "../include/skeleton.p4"
