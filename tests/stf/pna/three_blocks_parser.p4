// Without a pre control a parser takes other states for packets of the host, and a recirculated packet is told from others.
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

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, in pna_main_parser_input_metadata_t istd) {
    state start {
        meta.mark = istd.recirculated ? 8w0x80 : 8w0;
        transition select(is_host_port(istd.input_port)) {
            true: from_host;
            false: from_network;
        }
    }

    state from_host {
        meta.mark = meta.mark + 2;
        transition from_network;
    }

    state from_network {
        packet.extract(hdr.input);
        transition accept;
    }
}

control TestMain(inout headers_t hdr, inout meta_t meta, in pna_main_input_metadata_t istd,
                 inout pna_main_output_metadata_t ostd) {
    apply {
        hdr.input.value = meta.mark;
        send_to_port((PortId_t) 2);
        if (hdr.input.kind == 1 && !istd.recirculated) {
            recirculate();
        }
    }
}

#define MAIN_PARSER TestParser

#define WITHOUT_PRE
#define MAIN TestMain
#include "../include/pna_skeleton.p4"
