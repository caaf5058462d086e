// Registers keep their values from packet to packet; elements begin with the initial value.
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
    Register<bit<8>, bit<8>>(4, 0x40) last;
    Register<bit<16>, bit<8>>(2) sums;

    apply {
        send_to_port((PortId_t) 2);
        bit<8> before = last.read(hdr.input.kind);
        last.write(hdr.input.kind, hdr.input.value);
        bit<16> sum = sums.read(0) + (bit<16>) hdr.input.value;
        sums.write(0, sum);
        hdr.input.value = before;
        hdr.input.kind = sum[7:0];
    }
}

#define MAIN TestMain
#include "../include/pna_skeleton.p4"
