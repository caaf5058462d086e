// push_front and pop_front by the constructor parameter of a control, by two for one instance and one for another.

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

control Shift(inout headers_t hdr)(int up, bit<8> down) {
    apply {
        hdr.stack.push_front(up);
        hdr.stack[0] = { 0x66 };
        hdr.stack.pop_front(down + 0);
    }
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    Shift(2, 0) two_up;
    Shift(1, 2) one_down;

    apply {
        if (hdr.input.count == 1) {
            two_up.apply(hdr);
        } else {
            one_down.apply(hdr);
        }
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
