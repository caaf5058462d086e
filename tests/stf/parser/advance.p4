// advance drops bytes from the packet; advance(0) does nothing; the amount may come from the packet.

#include <v1model.p4>

header input_t {
    bit<8> skip;
}

header after_t {
    bit<8> value;
}

struct headers_t {
    input_t input;
    after_t after;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.input);
        packet.advance((bit<32>)hdr.input.skip * 8);
        packet.extract(hdr.after);
        transition accept;
    }
}

#include "../include/skeleton.p4"
