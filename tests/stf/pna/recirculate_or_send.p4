// Of recirculate(), send_to_port() and drop_packet() the last call decides.
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
        if (istd.pass != (PassNumber_t) 0) {
            hdr.input.value = 0xee;
            send_to_port((PortId_t) 3);
        } else if (hdr.input.kind == 0) {
            recirculate();
            send_to_port((PortId_t) 2);
        } else if (hdr.input.kind == 1) {
            send_to_port((PortId_t) 2);
            recirculate();
        } else if (hdr.input.kind == 2) {
            recirculate();
            drop_packet();
        } else if (hdr.input.kind == 3) {
            drop_packet();
            recirculate();
        }
    }
}

#define MAIN TestMain
#include "../include/pna_skeleton.p4"
