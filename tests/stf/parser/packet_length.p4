// packet.length() is the number of bytes of the whole packet, wherever the parser is.

#include <v1model.p4>

header input_t {
    bit<32> before;
    bit<32> after;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        bit<32> before = packet.length();
        packet.extract(hdr.input);
        hdr.input.before = before;
        hdr.input.after = packet.length();
        transition accept;
    }
}

#include "../include/skeleton.p4"
