// A packet from a port is not looped back; its pass is 0.
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
        hdr.input.kind = istd.loopedback ? 8w1 : 8w0;
        hdr.input.value = (bit<8>) (PassNumberUint_t) istd.pass;
    }
}

#define MAIN TestMain
#include "../include/pna_skeleton.p4"
