// A packet is processed once, also when it asks for a copy before it writes a register or executes a meter.
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
    Register<bit<8>, bit<8>>(1, 0) passes;
    Meter<bit<8>>(1, PNA_MeterType_t.PACKETS) rate;

    apply {
        send_to_port((PortId_t) 2);
        if (hdr.input.kind == 1) {
            mirror_packet((MirrorSlotId_t) 0, (MirrorSessionId_t) 7);
        }
        bit<8> before = passes.read(0);
        passes.write(0, before + 1);
        PNA_MeterColor_t color = rate.execute(0, PNA_MeterColor_t.GREEN);
        hdr.input.kind = before;
        hdr.input.value = color == PNA_MeterColor_t.RED ? 8w2 : 8w1;
    }
}

#define MAIN TestMain
#include "../include/pna_skeleton.p4"
