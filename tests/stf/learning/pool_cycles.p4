// Numbers go round a pool many times.
#include <v1model.p4>
#include <forebay.p4>

header input_t {
    bit<8> inside;
    bit<8> outside;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    NumberPool(3) numbers;

    action translate(bit<8> port) {
        hdr.input.outside = port;
    }

    action back(bit<8> address) {
        hdr.input.inside = address;
    }

    action refuse() {
        mark_to_drop(standard_metadata);
    }

    action learn() {
        bit<32> number;
        if (numbers.claim(number)) {
            bit<8> port = number[7:0] + 0x10;
            add_entry_pair("translate", { port }, "from_outside", { port }, "back", { hdr.input.inside }, 8w0);
            hdr.input.outside = port;
        } else {
            mark_to_drop(standard_metadata);
        }
    }

    table from_inside {
        key = {
            hdr.input.inside: exact;
        }
        actions = {
            translate;
            @defaultonly learn;
        }
        const default_action = learn();
        add_on_miss = true;
    }

    table from_outside {
        key = {
            hdr.input.outside: exact;
        }
        actions = {
            back;
            @defaultonly refuse;
        }
        const default_action = refuse();
        add_on_miss = true;
    }

    apply {
        standard_metadata.egress_spec = standard_metadata.ingress_port ^ 1;
        if (standard_metadata.ingress_port == 0) {
            from_inside.apply();
        } else {
            from_outside.apply();
        }
    }
}

#define INGRESS TestIngress
#include "../include/skeleton.p4"
