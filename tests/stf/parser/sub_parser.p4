// A sub-parser: out and inout parameters, its accept continues the caller, its reject rejects the whole.

#include <v1model.p4>

#include "../include/error_code.p4"

header input_t {
    bit<8> a;
}

header pair_t {
    bit<8> kind;
    bit<8> value;
}

parser PairParser(packet_in packet, out pair_t pair, inout bit<8> count) {
    state start {
        verify(packet.lookahead<bit<8>>() != 0, error.ParserInvalidArgument);
        packet.extract(pair);
        count = count + 1;
        transition accept;
    }
}

struct headers_t {
    input_t input;
    pair_t first;
    pair_t second;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    PairParser() pairs;

    state start {
        bit<8> count = 0;
        packet.extract(hdr.input);
        pairs.apply(packet, hdr.first, count);
        pairs.apply(packet, hdr.second, count);
        hdr.input.a = count;
        transition accept;
    }
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (standard_metadata.parser_error != error.NoError) {
            hdr.input.a = error_code(standard_metadata.parser_error) | 0x80;
        }
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
