// A PNA program that writes a register keeps specialised code. Packets that recirculate leave it in a program that mirrors, and so do mirrored ones
// where several mirror slots are used.
#include <core.p4>
#include <pna.p4>

header byte_t {
    bit<8> value;
}

struct headers_t {
    byte_t input;
}

struct meta_t {
    bit<8> mark;
}

control TestMain(inout headers_t hdr, inout meta_t meta, in pna_main_input_metadata_t istd,
                 inout pna_main_output_metadata_t ostd) {
    Register<bit<8>, bit<8>>(1, 0) passes;

    apply {
        passes.write(0, hdr.input.value);
        send_to_port((PortId_t) 2);
        if (hdr.input.value == 1) {
            mirror_packet((MirrorSlotId_t) 0, (MirrorSessionId_t) 7); // some: mirrors the packet, which then takes the slow path
        }
        if (hdr.input.value == 2) {
            mirror_packet((MirrorSlotId_t) 1, (MirrorSessionId_t) 8); // some: mirrors the packet, which then takes the slow path
        }
        if (hdr.input.value == 3 && istd.pass == (PassNumber_t) 0) {
            recirculate(); // some: recirculates the packet, which then takes the slow path
        }
    }
}

#define MAIN TestMain
#include "../stf/include/pna_skeleton.p4"
