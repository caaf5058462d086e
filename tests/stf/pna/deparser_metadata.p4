// The deparser reads metadata that the main control has written.
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
        meta.mark = hdr.input.kind;
    }
}

control TestDeparser(packet_out packet, in headers_t hdr, in meta_t meta, in pna_main_output_metadata_t ostd) {
    apply {
        if (meta.mark == 1) {
            packet.emit(hdr.input);
        }
        packet.emit(hdr.input);
    }
}

#define MAIN TestMain
#define DEPARSER TestDeparser
#include "../include/pna_skeleton.p4"
