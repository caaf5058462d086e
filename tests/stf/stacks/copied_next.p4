// Assigning a stack in a parser copies its next too.

#include <v1model.p4>

header item_t {
    bit<8> value;
}

struct headers_t {
    item_t[3] stack;
    item_t[3] copy;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.stack.next);
        packet.extract(hdr.stack.next);
        hdr.copy = hdr.stack;
        packet.extract(hdr.copy.next);
        transition accept;
    }
}

#include "../include/skeleton.p4"
