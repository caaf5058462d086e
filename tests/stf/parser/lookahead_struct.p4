// lookahead of a structure reads its fields one after the other.

#include <v1model.p4>

struct prefix_t {
    bit<3> kind;
    bool flag;
    int<4> number;
    bit<8> rest;
}

header input_t {
    bit<8> a;
}

header seen_t {
    bit<8> kind;
    int<8> number;
    bit<7> pad;
    bool flag;
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
        prefix_t prefix = packet.lookahead<prefix_t>();
        hdr.seen = { (bit<8>)prefix.kind, (int<8>)prefix.number, 0, prefix.flag };
        packet.extract(hdr.input);
        transition accept;
    }
}

#include "../include/skeleton.p4"
