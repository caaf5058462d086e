// An element chosen by a value of the packet is written, made invalid and made valid.

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

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        bit<8> index = hdr.input.count;
        if (index < 4) {
            hdr.stack[index].setValid();
            hdr.stack[index].value = 0x77;
            hdr.stack[index ^ 1].setInvalid();
        }
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
