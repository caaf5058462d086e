// Tables match exactly, by prefix, by mask, by range, and optionally.
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
    action add_1() {
        hdr.input.value = hdr.input.value | 1;
    }

    action add_2() {
        hdr.input.value = hdr.input.value | 2;
    }

    action add_4() {
        hdr.input.value = hdr.input.value | 4;
    }

    action add_8() {
        hdr.input.value = hdr.input.value | 8;
    }

    table prefixes {
        key = {
            hdr.input.kind: lpm;
        }
        actions = {
            add_1;
            NoAction;
        }
        default_action = NoAction();
    }

    table masks {
        key = {
            hdr.input.kind: ternary;
        }
        actions = {
            add_2;
            NoAction;
        }
        default_action = NoAction();
    }

    table ranges {
        key = {
            hdr.input.kind: range;
        }
        actions = {
            add_4;
            NoAction;
        }
        default_action = NoAction();
    }

    table choices {
        key = {
            hdr.input.kind: optional;
        }
        actions = {
            add_8;
            NoAction;
        }
        default_action = NoAction();
    }

    apply {
        send_to_port((PortId_t) 2);
        hdr.input.value = 0;
        prefixes.apply();
        masks.apply();
        ranges.apply();
        choices.apply();
    }
}

#define MAIN TestMain
#include "../include/pna_skeleton.p4"
