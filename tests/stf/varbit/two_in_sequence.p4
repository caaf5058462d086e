// Two headers with a varbit each, the second one's length computed from the first one's.

#include <v1model.p4>

header input_t {
    bit<4> first;
    bit<4> second;
    varbit<120> data;
}

header trailer_t {
    varbit<120> data;
}

struct headers_t {
    trailer_t trailer;
    input_t input;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.input, (bit<32>)packet.lookahead<bit<4>>() << 3);
        packet.extract(hdr.trailer, (bit<32>)hdr.input.second << 3);
        transition accept;
    }
}

#include "../include/skeleton.p4"
