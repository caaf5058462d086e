// A packet that is mirrored or recirculated changes a register once for each pass.
#include <pna.p4>

header input_t {
    bit<8> kind;
    bit<8> passes;
    bit<8> round;
}

struct headers_t {
    input_t input;
}

struct meta_t {
    bit<8> mark;
}

control TestMain(inout headers_t hdr, inout meta_t meta, in pna_main_input_metadata_t istd,
                 inout pna_main_output_metadata_t ostd) {
    Register<bit<8>, bit<8>>(1, 0) passes;

    apply {
        bit<8> before = passes.read(0);
        passes.write(0, before + 1);
        hdr.input.passes = before;
        if (hdr.input.kind != 3) {
            send_to_port((PortId_t) 2);
        }
        if (hdr.input.kind == 1 || hdr.input.kind == 3) {
            mirror_packet((MirrorSlotId_t) 0, (MirrorSessionId_t) 7);
        }
        if (hdr.input.kind == 2 && istd.pass == (PassNumber_t) 0) {
            hdr.input.round = 1;
            mirror_packet((MirrorSlotId_t) 0, (MirrorSessionId_t) 7);
            recirculate();
        }
    }
}

#define MAIN TestMain
#include "../include/pna_skeleton.p4"
