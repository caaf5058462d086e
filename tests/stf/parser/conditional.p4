// Conditional statements inside a state.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

header extra_t {
    bit<8> b;
}

struct headers_t {
    input_t input;
    extra_t extra;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.input);
        if (hdr.input.a > 0x7F) {
            packet.extract(hdr.extra);
            if (hdr.extra.b == 0) {
                hdr.extra.b = 0xFF;
            }
        } else {
            hdr.input.a = 1;
        }
        transition accept;
    }
}

#include "../include/skeleton.p4"
