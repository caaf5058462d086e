// Both entries of a pair may be in one table: a connection and its answers.
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
        standard_metadata.egress_spec = standard_metadata.ingress_port ^ 1;
    }

    action open() {
        if (standard_metadata.ingress_port == 0) {
            add_entry_pair("pass", {}, "connections", { hdr.input.to, hdr.input.from }, "pass", {}, 8w0);
            pass();
        } else {
            mark_to_drop(standard_metadata);
        }
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
