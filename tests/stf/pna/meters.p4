// A Meter gives GREEN, YELLOW, RED, and never a better colour than the packet had before.
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
    Meter<bit<8>>(2, PNA_MeterType_t.PACKETS) rate;

    apply {
        send_to_port((PortId_t) 2);
        PNA_MeterColor_t before = hdr.input.value == 1 ? PNA_MeterColor_t.YELLOW : PNA_MeterColor_t.GREEN;
        PNA_MeterColor_t color = rate.execute(hdr.input.kind, before);
        hdr.input.value = color == PNA_MeterColor_t.GREEN ? 8w0 : color == PNA_MeterColor_t.YELLOW ? 8w1 : 8w2;
    }
}

#define MAIN TestMain
#include "../include/pna_skeleton.p4"
