// Ranges over a signed value are signed ranges.

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
        transition select((int<8>)hdr.input.a) {
            -3 .. 3: case1;
            -128: case2;
            100 .. 127: case3;
            default: accept;
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
}

#include "../include/skeleton.p4"
