// The main parser knows direction, port and pass of a packet.
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
    apply {
        send_to_port((PortId_t) 2);
        hdr.input.value = meta.mark;
        if (hdr.input.kind == 0xff && istd.pass == (PassNumber_t) 0) {
            recirculate();
        }
    }
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, in pna_main_parser_input_metadata_t istd) {
    state start {
        packet.extract(hdr.input);
        meta.mark = (bit<8>) (PortIdUint_t) istd.input_port + 0x10;
        if (istd.pass == (PassNumber_t) 1) {
            meta.mark = meta.mark + 0x10;
        }
        transition select(istd.direction) {
            PNA_Direction_t.HOST_TO_NET: from_host;
            default: accept;
        }
    }

    state from_host {
        meta.mark = 0x80;
        transition accept;
    }
}

#define MAIN TestMain
#define MAIN_PARSER TestParser
#include "../include/pna_skeleton.p4"
