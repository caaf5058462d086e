// A packet may leave by any port, to the network or to the host, whichever way it came.
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
        send_to_port((PortId_t) (PortIdUint_t) ((bit<32>) hdr.input.kind << 8 | (bit<32>) hdr.input.value));
    }
}

#define MAIN TestMain
#include "../include/pna_skeleton.p4"
