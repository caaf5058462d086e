// Elements that a chain of choices names, with a constant for all other indices.

#include <v1model.p4>

header input_t {
    bit<8> index;
    bit<8> chosen;
}

header item_t {
    bit<8> value;
    bit<8> rest;
}

struct headers_t {
    input_t input;
    item_t[3] stack;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.input);
        packet.extract(hdr.stack.next);
        packet.extract(hdr.stack.next);
        packet.extract(hdr.stack.next);
        transition accept;
    }
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta,
                    inout standard_metadata_t standard_metadata) {
    apply {
        hdr.input.chosen = hdr.input.index == 0 ? hdr.stack[0].value
                         : hdr.input.index == 1 ? hdr.stack[1].value
                         : hdr.input.index == 2 ? hdr.stack[2].value
                         : 8w0xEE;
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
