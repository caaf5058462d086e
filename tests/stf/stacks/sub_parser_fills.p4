// A sub-parser that gets a stack as inout goes on where its caller stopped.

#include <v1model.p4>

header item_t {
    bit<8> value;
}

parser Two(packet_in packet, inout item_t[4] stack) {
    state start {
        packet.extract(stack.next);
        packet.extract(stack.next);
        transition accept;
    }
}

struct headers_t {
    item_t[4] stack;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    Two() two;

    state start {
        packet.extract(hdr.stack.next);
        two.apply(packet, hdr.stack);
        packet.extract(hdr.stack.next);
        hdr.stack[0].value = hdr.stack.last.value;
        transition accept;
    }
}

#include "../include/skeleton.p4"
