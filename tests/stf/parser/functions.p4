// Functions are called from a parser, with copy-in and copy-out.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
}

bit<8> swap(inout bit<8> x, inout bit<8> y) {
    bit<8> old = x;
    x = y;
    y = old;
    return x + y;
}

struct headers_t {
    input_t input;
    input_t second;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.input);
        bit<8> sum = swap(hdr.input.a, hdr.input.b);
        transition select(sum) {
            3: again;
            default: accept;
        }
    }

    state again {
        packet.extract(hdr.second);
        transition accept;
    }
}

#include "../include/skeleton.p4"
