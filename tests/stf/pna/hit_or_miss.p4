// A packet whose entry is added was a miss; the next one is a hit and runs the entry's action.
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
    action known(bit<8> port) {
        hdr.input.value = hdr.input.value | port;
    }

    action learn() {
        add_entry("known", { (bit<8>) (PortIdUint_t) istd.input_port }, (ExpireTimeProfileId_t) 0);
    }

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
        hdr.input.value = 0;
        if (flows.apply().hit) {
            hdr.input.value = hdr.input.value | 0x80;
        }
    }
}

#define MAIN TestMain
#include "../include/pna_skeleton.p4"
