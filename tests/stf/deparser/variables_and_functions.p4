// A deparser has variables, calls functions and controls of its own, and loops.

#include <v1model.p4>

header input_t {
    bit<8> count;
}

header item_t {
    bit<8> value;
}

bool wanted(in input_t input, in bit<8> i) {
    return i < input.count;
}

struct headers_t {
    input_t input;
    item_t item;
}

struct meta_t {}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.item = { 0x77 };
        standard_metadata.egress_spec = 2;
    }
}

#define DEPARSER TestDeparser
control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        item_t own;
        own = { hdr.item.value + 1 };
        packet.emit(hdr.input);
        for (bit<8> i in 8w0 .. 3) {
            if (wanted(hdr.input, i)) {
                packet.emit(hdr.item);
            }
        }
        packet.emit(own);
    }
}

#include "../include/skeleton.p4"
