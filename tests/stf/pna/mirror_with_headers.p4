// A mirrored packet is the frame as it leaves, with and without a second header, also if the packet is dropped.
#include <pna.p4>

header input_t {
    bit<8> kind;
    bit<8> value;
}

header more_t {
    bit<16> value;
}

struct headers_t {
    input_t input;
    more_t more;
}

struct meta_t {
    bit<8> mark;
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, in pna_main_parser_input_metadata_t istd) {
    state start {
        packet.extract(hdr.input);
        transition select(hdr.input.kind) {
            0x80 &&& 0x80: more;
            default: accept;
        }
    }

    state more {
        packet.extract(hdr.more);
        transition accept;
    }
}

control TestMain(inout headers_t hdr, inout meta_t meta, in pna_main_input_metadata_t istd,
                 inout pna_main_output_metadata_t ostd) {
    Register<bit<8>, bit<8>>(1, 0) passes;

    apply {
        bit<8> before = passes.read(0);
        passes.write(0, before + 1);
        hdr.input.value = before;
        if (hdr.input.kind[0:0] == 1) {
            mirror_packet((MirrorSlotId_t) 1, (MirrorSessionId_t) 7);
        }
        if (hdr.input.kind[1:1] == 1) {
            hdr.more.setInvalid();
            hdr.input.kind[7:7] = 0;
        }
        if (hdr.input.kind[2:2] == 1) {
            hdr.more.setValid();
            hdr.more.value = 0x6666;
        }
        if (hdr.input.kind[3:3] == 0) {
            send_to_port((PortId_t) 2);
        }
        if (hdr.input.kind[4:4] == 1 && istd.pass == (PassNumber_t) 0) {
            recirculate();
        }
    }
}

#define MAIN_PARSER TestParser
#define MAIN TestMain
#include "../include/pna_skeleton.p4"
