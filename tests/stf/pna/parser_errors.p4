// The main control sees which error the parser has ended with, and the headers before it.
#include <pna.p4>

header input_t {
    bit<8> kind;
    bit<8> value;
}

error {
    TooLarge
}

struct headers_t {
    input_t input;
    input_t second;
}

struct meta_t {
    bit<8> mark;
}

control TestMain(inout headers_t hdr, inout meta_t meta, in pna_main_input_metadata_t istd,
                 inout pna_main_output_metadata_t ostd) {
    apply {
        send_to_port((PortId_t) 2);
        if (istd.parser_error == error.NoError) {
            hdr.input.value = 1;
        } else if (istd.parser_error == error.TooLarge) {
            hdr.input.value = 2;
        } else if (istd.parser_error == error.NoMatch) {
            hdr.input.value = 3;
        } else if (istd.parser_error == error.PacketTooShort) {
            hdr.input.value = 4;
        }
    }
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, in pna_main_parser_input_metadata_t istd) {
    state start {
        packet.extract(hdr.input);
        verify(hdr.input.kind < 0x80, error.TooLarge);
        transition select(hdr.input.kind) {
            1: accept;
            3: more;
        }
    }

    state more {
        packet.extract(hdr.second);
        transition accept;
    }
}

#define MAIN TestMain
#define MAIN_PARSER TestParser
#include "../include/pna_skeleton.p4"
