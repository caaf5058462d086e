// The pre control sees the error of the parser.
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
        hdr.input.setValid();
        hdr.input.kind = meta.mark;
        hdr.input.value = 0;
    }
}

control TestPre(in headers_t hdr, inout meta_t meta, in pna_pre_input_metadata_t istd,
                inout pna_pre_output_metadata_t ostd) {
    apply {
        meta.mark = istd.parser_error == error.NoError ? 8w1 : 8w2;
    }
}

#define MAIN TestMain
#define PRE TestPre
#include "../include/pna_skeleton.p4"
