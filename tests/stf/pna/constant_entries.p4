// Entries that stand in the program, and a default action with data.
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
    action give(bit<8> value) {
        hdr.input.value = value;
    }

    table flows {
        key = {
            hdr.input.kind: exact;
        }
        actions = {
            give;
        }
        const default_action = give(0xdd);
        const entries = {
            1: give(0x11);
            2: give(0x22);
        }
    }

    apply {
        send_to_port((PortId_t) 2);
        flows.apply();
    }
}

#define MAIN TestMain
#include "../include/pna_skeleton.p4"
