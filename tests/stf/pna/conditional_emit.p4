// A deparser emits headers on conditions: what the header itself says, another one, and nested conditions. What is not emitted is left out of the
// next pass, too.
#include <pna.p4>

header input_t {
    bit<8> kind;
    bit<8> value;
}

header label_t {
    bit<8> value;
}

struct headers_t {
    input_t input;
    label_t one;
    label_t two;
    label_t three;
}

struct meta_t {
    bit<8> mark;
}

control TestMain(inout headers_t hdr, inout meta_t meta, in pna_main_input_metadata_t istd,
                 inout pna_main_output_metadata_t ostd) {
    action label() {
        hdr.one.setValid();
        hdr.one.value = 0x11;
    }

    table labels {
        key = {
            hdr.input.value: exact;
        }
        actions = {
            label;
            NoAction;
        }
        default_action = NoAction();
    }

    apply {
        labels.apply();
        hdr.two.setValid();
        hdr.two.value = 0x22;
        hdr.three.setValid();
        hdr.three.value = 0x33;
        send_to_port((PortId_t) 2);
        if (hdr.input.kind == 5) {
            hdr.input.kind = 4;
            recirculate();
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr, in meta_t meta, in pna_main_output_metadata_t ostd) {
    apply {
        packet.emit(hdr.input);
        if (hdr.one.isValid()) {
            packet.emit(hdr.one);
        }
        if (hdr.input.kind == 1) {
            packet.emit(hdr.two);
        } else if (hdr.input.kind == 2) {
            packet.emit(hdr.three);
            return;
        }
        if (hdr.input.kind == 3) {
            return;
        }
    }
}

#define MAIN TestMain
#define DEPARSER TestDeparser
#include "../include/pna_skeleton.p4"
