// The element that an inout argument names by an index is fixed at the call, also when the callee changes the index.

#include <v1model.p4>

header input_t {
    bit<8> index;
}

header item_t {
    bit<8> value;
}

struct headers_t {
    input_t input;
    item_t[3] items;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.input);
        packet.extract(hdr.items.next);
        packet.extract(hdr.items.next);
        packet.extract(hdr.items.next);
        transition accept;
    }
}

control Move(inout input_t input, inout item_t item) {
    apply {
        input.index = input.index + 1;
        item.value = item.value + 0x10;
    }
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    Move() move;

    apply {
        move.apply(hdr.input, hdr.items[hdr.input.index]);
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
