// The entry that is added has the key that was looked up, also when the action changes the field before.
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
    action hit(bit<8> value) {
        hdr.input.value = value;
    }

    action miss() {
        bit<8> before = hdr.input.kind;
        hdr.input.kind = hdr.input.kind + 1;
        add_entry("hit", { before }, (ExpireTimeProfileId_t) 2);
    }

    table flows {
        key = {
            hdr.input.kind: exact;
            hdr.input.value[3:0]: exact;
        }
        actions = {
            hit;
            @defaultonly miss;
        }
        add_on_miss = true;
        const default_action = miss();
    }

    apply {
        send_to_port((PortId_t) 2);
        flows.apply();
    }
}

#define MAIN TestMain
#include "../include/pna_skeleton.p4"
