// Types of the interface become those of headers and back by the functions of pna.p4.
#include <pna.p4>

header input_t {
    bit<32> port;
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
        PortIdInHeader_t in_header = pna_PortId_int_to_header(istd.input_port);
        hdr.input.port = (PortIdInHeaderUint_t) in_header;
        send_to_port(pna_PortId_header_to_int(in_header));
    }
}

#define MAIN TestMain
#include "../include/pna_skeleton.p4"
