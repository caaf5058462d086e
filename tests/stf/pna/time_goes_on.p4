// The timestamp of a later packet is larger.
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
    Register<bit<64>, bit<8>>(1) last;

    apply {
        send_to_port((PortId_t) 2);
        bit<64> now = (TimestampUint_t) istd.timestamp;
        bit<64> before = last.read(0);
        last.write(0, now);
        hdr.input.value = now > before ? 8w1 : 8w0;
    }
}

#define MAIN TestMain
#include "../include/pna_skeleton.p4"
