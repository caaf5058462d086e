// Tables in egress learn, too.
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

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    action known(bit<9> port) {
        hdr.input.value = port[7:0];
    }

    action learn() {
        add_entry("known", { standard_metadata.egress_port }, 8w0);
        hdr.input.value = 0xff;
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
        flows.apply();
    }
}

#define EGRESS TestEgress
#include "../include/skeleton.p4"
