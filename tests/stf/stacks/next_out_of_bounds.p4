// Extracting into next beyond the stack stops the parser with StackOutOfBounds; the stack keeps what it has.

#include <v1model.p4>

#include "../include/error_code.p4"

header input_t {
    bit<8> count;
}

header item_t {
    bit<8> value;
}

struct headers_t {
    input_t input;
    item_t[4] stack;
}

struct meta_t {}

// Reads `count` items.
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    bit<8> left;

    state start {
        packet.extract(hdr.input);
        left = hdr.input.count;
        transition items;
    }

    state items {
        transition select(left) {
            0: accept;
            default: item;
        }
    }

    state item {
        packet.extract(hdr.stack.next);
        left = left - 1;
        transition items;
    }
}

#define PARSER TestParser

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.input.count = error_code(standard_metadata.parser_error);
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
