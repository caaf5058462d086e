// More paths through the parser than are compiled.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
    bit<8> result;
}

header byte_t {
    bit<8> value;
}

struct headers_t {
    input_t input;
    byte_t byte_0;
    byte_t byte_1;
    byte_t byte_2;
    byte_t byte_3;
    byte_t byte_4;
    byte_t byte_5;
    byte_t byte_6;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.input); // some: 64 of the 128 paths through the parser are compiled at the start, the others when packets take them
        transition choose_0;
    }

    state choose_0 {
        transition select(hdr.input.a[0:0]) {
            1: take_0;
            default: choose_1;
        }
    }

    state take_0 {
        packet.extract(hdr.byte_0);
        transition choose_1;
    }

    state choose_1 {
        transition select(hdr.input.a[1:1]) {
            1: take_1;
            default: choose_2;
        }
    }

    state take_1 {
        packet.extract(hdr.byte_1);
        transition choose_2;
    }

    state choose_2 {
        transition select(hdr.input.a[2:2]) {
            1: take_2;
            default: choose_3;
        }
    }

    state take_2 {
        packet.extract(hdr.byte_2);
        transition choose_3;
    }

    state choose_3 {
        transition select(hdr.input.a[3:3]) {
            1: take_3;
            default: choose_4;
        }
    }

    state take_3 {
        packet.extract(hdr.byte_3);
        transition choose_4;
    }

    state choose_4 {
        transition select(hdr.input.a[4:4]) {
            1: take_4;
            default: choose_5;
        }
    }

    state take_4 {
        packet.extract(hdr.byte_4);
        transition choose_5;
    }

    state choose_5 {
        transition select(hdr.input.a[5:5]) {
            1: take_5;
            default: choose_6;
        }
    }

    state take_5 {
        packet.extract(hdr.byte_5);
        transition choose_6;
    }

    state choose_6 {
        transition select(hdr.input.a[6:6]) {
            1: take_6;
            default: accept;
        }
    }

    state take_6 {
        packet.extract(hdr.byte_6);
        transition accept;
    }
}

#include "../stf/include/skeleton.p4"
