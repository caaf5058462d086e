// Each of the four slots makes a copy of its own.
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
        hdr.input.value = 0x99;
        mirror_packet((MirrorSlotId_t) 3, (MirrorSessionId_t) 4);
        mirror_packet((MirrorSlotId_t) 0, (MirrorSessionId_t) 1);
        mirror_packet((MirrorSlotId_t) 1, (MirrorSessionId_t) 2);
        mirror_packet((MirrorSlotId_t) 2, (MirrorSessionId_t) 3);
        drop_packet();
    }
}

#define MAIN TestMain
#include "../include/pna_skeleton.p4"
