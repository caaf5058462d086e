// Reading last of an empty stack stops the parser with StackOutOfBounds.

#include <v1model.p4>

#include "../include/error_code.p4"

header item_t {
    bit<8> value;
}

header input_t {
    bit<8> code;
}

struct headers_t {
    input_t input;
    item_t[2] stack;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.input);
        transition select(hdr.input.code) {
            0: peek;
            default: fill;
        }
    }

    state fill {
        packet.extract(hdr.stack.next);
        transition peek;
    }

    state peek {
        transition select(hdr.stack.last.value) {
            default: accept;
        }
    }
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.input.code = error_code(standard_metadata.parser_error);
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
