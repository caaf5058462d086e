// Cases after a default are never reached.

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
        transition select(hdr.input.a) {
            7: case1;
            default: case2;
            8: case3;
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
