// The members of a struct given to add_entry are the parameters of the same names, in whatever order the struct has them.
#include <pna.p4>

header input_t {
    bit<8> kind;
    bit<8> value;
}

struct headers_t {
    input_t input;
}

struct learnt_t {
    bit<8> value;
    bit<8> kind;
}

struct meta_t {
    bit<8> mark;
}

control TestMain(inout headers_t hdr, inout meta_t meta, in pna_main_input_metadata_t istd,
                 inout pna_main_output_metadata_t ostd) {
    action hit(bit<8> kind, bit<8> value) {
        hdr.input.kind = kind;
        hdr.input.value = value;
    }

    action miss() {
        add_entry("hit", (learnt_t) { value = hdr.input.value, kind = 0xaa }, (ExpireTimeProfileId_t) 2);
        hdr.input.value = 0xee;
    }

    table flows {
        key = {
            hdr.input.kind: exact;
        }
        actions = {
            hit;
            @defaultonly miss;
        }
        add_on_miss = true;
        const default_action = miss();
        size = 4;
    }

    apply {
        send_to_port((PortId_t) 2);
        flows.apply();
    }
}

#define MAIN TestMain
#include "../include/pna_skeleton.p4"
