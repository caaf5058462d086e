// User metadata is zero for each packet, and is not kept when a packet goes round.
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
        hdr.input.value = meta.mark;
        meta.mark = 0x55;
        send_to_port((PortId_t) 2);
        if (istd.pass == (PassNumber_t) 0 && hdr.input.kind == 1) {
            recirculate();
        }
    }
}

#define MAIN TestMain
#include "../include/pna_skeleton.p4"
