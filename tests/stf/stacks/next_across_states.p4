// Two stacks filled in turn each have their own next.

#include <v1model.p4>

header item_t {
    bit<8> value;
}

struct headers_t {
    item_t[3] odd;
    item_t[3] even;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        transition select(packet.lookahead<bit<8>>()) {
            0: accept;
            8w1 &&& 8w1: odd;
            default: even;
        }
    }

    state odd {
        packet.extract(hdr.odd.next);
        transition start;
    }

    state even {
        packet.extract(hdr.even.next);
        transition start;
    }
}

#include "../include/skeleton.p4"
