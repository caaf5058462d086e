// A parser that rejects does not drop: the main control sees the error.
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
        if (istd.parser_error == error.PacketTooShort) {
            hdr.input.setValid();
            hdr.input.kind = 0xff;
            hdr.input.value = 0;
        }
    }
}

#define MAIN TestMain
#include "../include/pna_skeleton.p4"
