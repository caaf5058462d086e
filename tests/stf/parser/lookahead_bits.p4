// lookahead of bits reads without moving: sizes inside a byte, of several bytes, twice the same.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
}

header seen_t {
    bit<4> first;
    bit<12> second;
    bit<16> third;
}

struct headers_t {
    seen_t seen;
    input_t input;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        hdr.seen.setValid();
        hdr.seen.first = packet.lookahead<bit<4>>();
        hdr.seen.second = packet.lookahead<bit<12>>();
        packet.extract(hdr.input);
        hdr.seen.third = packet.lookahead<bit<16>>();
        transition accept;
    }
}

#include "../include/skeleton.p4"
