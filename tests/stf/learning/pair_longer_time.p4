// set_entry_expire_time() on one entry of a pair is for both.
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
        standard_metadata.egress_spec = 2;
        if (hdr.input.to == 0) {
            set_entry_expire_time(8w1);
        }
    }

    action answer() {
        standard_metadata.egress_spec = 3;
    }

    action open() {
        standard_metadata.egress_spec = 2;
        add_entry_pair("pass", {}, "answers", { hdr.input.from }, "answer", {}, 8w0);
    }

    action refuse() {
        mark_to_drop(standard_metadata);
    }

    table flows {
        key = {
            hdr.input.from: exact;
        }
        actions = {
            pass;
            @defaultonly open;
        }
        const default_action = open();
        add_on_miss = true;
    }

    table answers {
        key = {
            hdr.input.from: exact;
        }
        actions = {
            answer;
            @defaultonly refuse;
        }
        const default_action = refuse();
        add_on_miss = true;
    }

    apply {
        if (standard_metadata.ingress_port == 0) {
            flows.apply();
        } else {
            answers.apply();
        }
    }
}

#define INGRESS TestIngress
#include "../include/skeleton.p4"
