// A packet has been recirculated however often it was: 256 passes are not none.
#include <pna.p4>

header input_t {
    bit<8> kind;
    bit<16> value;
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
        if (!istd.recirculated) {
            hdr.input.kind = hdr.input.kind + 1;
        }
        hdr.input.value = hdr.input.value - 1;
        if (hdr.input.value != 0) {
            recirculate();
        } else {
            send_to_port((PortId_t) 2);
        }
    }
}

#define MAIN TestMain
#include "../include/pna_skeleton.p4"
