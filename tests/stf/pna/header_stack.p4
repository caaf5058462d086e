// Stacks of headers are parsed and emitted as in other architectures.
#include <pna.p4>

header input_t {
    bit<8> kind;
    bit<8> value;
}

struct headers_t {
    input_t[3] labels;
    input_t input;
}

struct meta_t {
    bit<8> mark;
}

control TestMain(inout headers_t hdr, inout meta_t meta, in pna_main_input_metadata_t istd,
                 inout pna_main_output_metadata_t ostd) {
    apply {
        send_to_port((PortId_t) 2);
        if (hdr.labels[0].isValid()) {
            hdr.labels.pop_front(1);
        } else {
            hdr.labels.push_front(1);
            hdr.labels[0].setValid();
            hdr.labels[0].kind = 0xfe;
            hdr.labels[0].value = 9;
        }
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
        packet.extract(hdr.labels.next);
        transition start;
    }

    state parse_input {
        packet.extract(hdr.input);
        transition accept;
    }
}

#define MAIN TestMain
#define MAIN_PARSER TestParser
#include "../include/pna_skeleton.p4"
