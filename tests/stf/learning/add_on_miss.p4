// A v1model program that learns addresses by itself: tables with add_on_miss of forebay.p4.
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
    action known() {}

    action learn() {
        add_entry("known", {}, 8w4);
    }

    action send(bit<9> port) {
        standard_metadata.egress_spec = port;
    }

    action learn_port() {
        add_entry("send", { standard_metadata.ingress_port }, 8w4);
        standard_metadata.egress_spec = 8;
    }

    table seen {
        key = {
            hdr.input.from: exact;
        }
        actions = {
            known;
            @defaultonly learn;
        }
        add_on_miss = true;
        const default_action = learn();
    }

    table by_sender {
        key = {
            hdr.input.from: exact;
        }
        actions = {
            send;
            @defaultonly learn_port;
        }
        add_on_miss = true;
        const default_action = learn_port();
    }

    apply {
        by_sender.apply();
        if (seen.apply().hit) {
            hdr.input.to = hdr.input.to | 0x80;
        }
    }
}

#define INGRESS TestIngress
#include "../include/skeleton.p4"
