// The pre control knows direction and pass.
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
        send_to_port((PortId_t) 2);
        if (hdr.input.kind == 1 && istd.pass == (PassNumber_t) 0) {
            recirculate();
        }
    }
}

control TestPre(in headers_t hdr, inout meta_t meta, in pna_pre_input_metadata_t istd,
                inout pna_pre_output_metadata_t ostd) {
    apply {
        meta.mark = (bit<8>) (PassNumberUint_t) istd.pass;
        if (istd.direction == PNA_Direction_t.HOST_TO_NET) {
            meta.mark = meta.mark + 0x80;
        }
    }
}

#define MAIN TestMain
#define PRE TestPre
#include "../include/pna_skeleton.p4"
