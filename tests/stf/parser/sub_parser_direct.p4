// A sub-parser without constructor parameters is applied by its type; a parser has constructor parameters.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

parser ByteParser(packet_in packet, out input_t byte)(bit<8> plus) {
    state start {
        packet.extract(byte);
        byte.a = byte.a + plus;
        transition accept;
    }
}

parser TwoBytes(packet_in packet, out input_t first, out input_t second) {
    ByteParser(1) one;
    ByteParser(16) sixteen;

    state start {
        one.apply(packet, first);
        sixteen.apply(packet, second);
        transition accept;
    }
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
        TwoBytes.apply(packet, hdr.second, hdr.input);
        transition accept;
    }
}

#include "../include/skeleton.p4"
