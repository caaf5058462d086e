// A loop over type-length-value options skips those it does not know and stops at the end mark.

#include <v1model.p4>

header input_t {
    bit<8> kind;
    bit<8> value;
}

struct option_t {
    bit<8> kind;
    bit<8> length;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        transition select(packet.lookahead<bit<8>>()) {
            0: end;
            1: one_byte;
            42: wanted;
            default: other;
        }
    }

    state one_byte {
        packet.advance(8);
        transition start;
    }

    state other {
        option_t option = packet.lookahead<option_t>();
        verify(option.length >= 2, error.ParserInvalidArgument);
        packet.advance((bit<32>)option.length << 3);
        transition start;
    }

    state wanted {
        packet.extract(hdr.input);
        transition start;
    }

    state end {
        packet.advance(8);
        transition accept;
    }
}

#include "../include/skeleton.p4"
