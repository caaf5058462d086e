// The pre control sees headers and port before the main control, and its metadata is the main control's.
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

control TestPre(in headers_t hdr, inout meta_t meta, in pna_pre_input_metadata_t istd,
                inout pna_pre_output_metadata_t ostd) {
    apply {
        meta.mark = hdr.input.kind + (bit<8>) (PortIdUint_t) istd.input_port;
    }
}

control TestMain(inout headers_t hdr, inout meta_t meta, in pna_main_input_metadata_t istd,
                 inout pna_main_output_metadata_t ostd) {
    apply {
        hdr.input.value = meta.mark;
        send_to_port((PortId_t) 2);
    }
}

#define PRE TestPre
#define MAIN TestMain
#include "../include/pna_skeleton.p4"
