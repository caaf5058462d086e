// A select over two values: every component must match; default and _ match all.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
}

header case_t {
    bit<8> number;
}

struct headers_t {
    case_t number;
    input_t input;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.input);
        hdr.number.setValid();
        hdr.number.number = 0;
        transition select(hdr.input.a, hdr.input.b) {
            (1, 2): case1;
            (1, _): case2;
            (0x40 &&& 0xC0, 5 .. 9): case3;
            (_, 7): case4;
            default: case5;
        }
    }

    state case1 {
        hdr.number.number = 1;
        transition accept;
    }

    state case2 {
        hdr.number.number = 2;
        transition accept;
    }

    state case3 {
        hdr.number.number = 3;
        transition accept;
    }

    state case4 {
        hdr.number.number = 4;
        transition accept;
    }

    state case5 {
        hdr.number.number = 5;
        transition accept;
    }
}

#include "../include/skeleton.p4"
