// A recirculated packet keeps its input port and its direction.
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
        if (istd.pass == (PassNumber_t) 0) {
            recirculate();
        } else {
            send_to_port((PortId_t) 2);
            hdr.input.kind = (bit<8>) (PortIdUint_t) istd.input_port;
            hdr.input.value = istd.direction == PNA_Direction_t.HOST_TO_NET ? 8w1 : 8w0;
        }
    }
}

#define MAIN TestMain
#include "../include/pna_skeleton.p4"
