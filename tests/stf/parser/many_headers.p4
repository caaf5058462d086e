// A chain of twenty headers, longer than any fixed table of a switch would have.

#include <v1model.p4>

header input_t {
    bit<8> next;
}

struct headers_t {
    input_t[20] input;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.input.next);
        transition select(hdr.input.last.next) {
            0: accept;
            default: start;
        }
    }
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.input[19].next = hdr.input[19].next + 0x40;
        hdr.input[0].next = 0x99;
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
