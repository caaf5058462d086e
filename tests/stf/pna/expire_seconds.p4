// @expire_seconds names the times of the profiles of a table.
#include <pna.p4>

header input_t {
    bit<8> kind;
    bit<8> value;
}

struct headers_t {
    input_t input;
}

struct meta_t {
    bit<8> mark;
}

control TestMain(inout headers_t hdr, inout meta_t meta, in pna_main_input_metadata_t istd,
                 inout pna_main_output_metadata_t ostd) {
    action known() {
        hdr.input.value = 1;
    }

    action learn() {
        add_entry("known", {}, (ExpireTimeProfileId_t) (ExpireTimeProfileIdUint_t) hdr.input.kind);
        hdr.input.value = 0;
    }

    @expire_seconds(3, 12)
    table flows {
        key = {
            hdr.input.kind: exact;
        }
        actions = {
            known;
            @defaultonly learn;
        }
        const default_action = learn();
        add_on_miss = true;
    }

    apply {
        send_to_port((PortId_t) 2);
        flows.apply();
    }
}

#define MAIN TestMain
#include "../include/pna_skeleton.p4"
