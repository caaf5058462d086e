// A header that was added is parsed on the next pass, one that was removed is not.
#include <pna.p4>

header input_t {
    bit<8> kind;
    bit<8> value;
}

struct headers_t {
    input_t label;
    input_t input;
}

struct meta_t {
    bit<8> mark;
}

control TestMain(inout headers_t hdr, inout meta_t meta, in pna_main_input_metadata_t istd,
                 inout pna_main_output_metadata_t ostd) {
    apply {
        if (hdr.input.kind == 0x10) {
            hdr.label.setValid();
            hdr.label.kind = 0xfe;
            hdr.label.value = hdr.input.value;
            recirculate();
        } else if (hdr.label.isValid()) {
            hdr.input.value = hdr.label.value + 1;
            hdr.label.setInvalid();
            send_to_port((PortId_t) 2);
        } else {
            send_to_port((PortId_t) 3);
        }
        hdr.input.kind = 0;
    }
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, in pna_main_parser_input_metadata_t istd) {
    state start {
        transition select(packet.lookahead<bit<8>>()) {
            0xfe: parse_label;
            default: parse_input;
        }
    }

    state parse_label {
        packet.extract(hdr.label);
        transition parse_input;
    }

    state parse_input {
        packet.extract(hdr.input);
        transition accept;
    }
}

#define MAIN TestMain
#define MAIN_PARSER TestParser
#include "../include/pna_skeleton.p4"
