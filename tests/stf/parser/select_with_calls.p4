// The values of a select are evaluated once, from left to right, before the cases are tried.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
}

bit<8> next(inout bit<8> value) {
    value = value + 1;
    return value;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.input);
        transition select(next(hdr.input.a), next(hdr.input.a)) {
            (1, 1): wrong;
            (1, 2): right;
            (2, _): wrong;
            (_, 7): right;
            default: accept;
        }
    }

    state right {
        hdr.input.b = 0x11;
        transition accept;
    }

    state wrong {
        hdr.input.b = 0xEE;
        transition accept;
    }
}

#include "../include/skeleton.p4"
