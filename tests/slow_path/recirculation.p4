// A PNA program whose packets recirculate: each pass of theirs takes the fast path. Its parser is told the direction.
#include <core.p4>
#include <pna.p4>

header byte_t {
    bit<8> value;
}

struct headers_t {
    byte_t input;
}

struct meta_t {
    bit<8> mark;
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, in pna_main_parser_input_metadata_t istd) {
    state start {
        packet.extract(hdr.input);
        transition select(istd.direction) {
            PNA_Direction_t.HOST_TO_NET: from_host;
            default: accept;
        }
    }

    state from_host {
        meta.mark = 1;
        transition accept;
    }
}

control TestMain(inout headers_t hdr, inout meta_t meta, in pna_main_input_metadata_t istd,
                 inout pna_main_output_metadata_t ostd) {
    Register<bit<8>, bit<8>>(1, 0) passes;

    apply {
        passes.write(0, hdr.input.value + meta.mark);
        send_to_port((PortId_t) 2);
        if (istd.pass == (PassNumber_t) 0) {
            recirculate();
        }
    }
}

#define MAIN_PARSER TestParser
#define MAIN TestMain
#include "../stf/include/pna_skeleton.p4"
