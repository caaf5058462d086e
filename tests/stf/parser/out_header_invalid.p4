// The headers of the out parameter begin invalid, also the ones a sub-parser gets from its caller.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

parser Clearing(packet_in packet, out input_t byte) {
    state start {
        transition accept;
    }
}

struct headers_t {
    input_t input;
    input_t second;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.input);
        packet.extract(hdr.second);
        Clearing.apply(packet, hdr.input);
        transition accept;
    }
}

#include "../include/skeleton.p4"
