// The element of an inout argument is chosen before the call, whatever the call does to the index.

#include <v1model.p4>

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

void bump(inout bit<8> value, inout bit<8> index) {
    value = value + 1;
    index = index + 1;
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        bit<8> index = 1;
        if (hdr.input.count >= 2) {
            bump(hdr.stack[index].value, index);
        }
        hdr.input.count = index;
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
