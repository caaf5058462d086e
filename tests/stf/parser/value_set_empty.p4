// A value set that the control plane has not filled contains nothing.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    value_set<bit<8>>(4) known;

    state start {
        packet.extract(hdr.input);
        transition select(hdr.input.a) {
            known: mark;
            0x55: mark_constant;
            default: accept;
        }
    }

    state mark {
        hdr.input.a = 0xEE;
        transition accept;
    }

    state mark_constant {
        hdr.input.a = 0x56;
        transition accept;
    }
}

#include "../include/skeleton.p4"
