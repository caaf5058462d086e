// hdr.stack.lastIndex is one less than the number of elements extracted.

#include <v1model.p4>

header item_t {
    bit<8> value;
}

header input_t {
    bit<32> last_index;
}

struct headers_t {
    input_t input;
    item_t[5] stack;
}

struct meta_t {}

// Reads items up to one that is 0 and notes where it was.
#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.input);
        transition item;
    }

    state item {
        packet.extract(hdr.stack.next);
        hdr.input.last_index = hdr.stack.lastIndex;
        transition select(hdr.stack.last.value) {
            0: accept;
            default: item;
        }
    }
}

#include "../include/skeleton.p4"
