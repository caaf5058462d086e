// InternetChecksum adds and subtracts words; its state can be stored and given back.
#include <pna.p4>

header input_t {
    bit<16> first;
    bit<16> second;
    bit<16> third;
}

struct headers_t {
    input_t input;
}

struct meta_t {
    bit<8> mark;
}

control TestMain(inout headers_t hdr, inout meta_t meta, in pna_main_input_metadata_t istd,
                 inout pna_main_output_metadata_t ostd) {
    InternetChecksum() sum;

    apply {
        send_to_port((PortId_t) 2);
        sum.clear();
        sum.add({ hdr.input.first, hdr.input.second });
        bit<16> state = sum.get_state();
        sum.add(hdr.input.third);
        bit<16> full = sum.get();
        sum.subtract(hdr.input.second);
        bit<16> less = sum.get();
        sum.set_state(state);
        sum.add(hdr.input.third);
        bit<16> again = sum.get();
        hdr.input.first = full;
        hdr.input.second = less;
        hdr.input.third = again;
    }
}

#define MAIN TestMain
#include "../include/pna_skeleton.p4"
