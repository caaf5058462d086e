// Headers that are not whole bytes, one after the other: the bits add up.

#include <v1model.p4>

header three_t {
    bit<3> value;
}

header five_t {
    bit<5> value;
}

header thirteen_t {
    bit<13> value;
}

struct headers_t {
    five_t five;
    three_t three;
    thirteen_t thirteen;
    three_t last;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.three);
        packet.extract(hdr.five);
        packet.extract(hdr.thirteen);
        packet.extract(hdr.last);
        transition accept;
    }
}

#include "../include/skeleton.p4"
