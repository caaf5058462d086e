// A package without a pre control; is_net_port and is_host_port tell where a packet comes from.
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
        hdr.input.kind = is_net_port(istd.input_port) ? 8w1 : 8w0;
        hdr.input.value = is_host_port(istd.input_port) ? 8w1 : 8w0;
        send_to_port((PortId_t) 2);
    }
}

#define WITHOUT_PRE
#define MAIN TestMain
#include "../include/pna_skeleton.p4"
