// A recirculated packet is parsed as the deparser made it, with the next pass number.
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
        hdr.input.value = hdr.input.value + 1;
        if ((bit<8>) (PassNumberUint_t) istd.pass < hdr.input.kind) {
            send_to_port((PortId_t) 3);
            recirculate();
        } else {
            hdr.input.kind = (bit<8>) (PassNumberUint_t) istd.pass;
            send_to_port((PortId_t) 2);
        }
    }
}

#define MAIN TestMain
#include "../include/pna_skeleton.p4"
