// extract<T>(_) skips a header.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

header skipped_t {
    bit<24> value;
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
        packet.extract<skipped_t>(_);
        packet.extract(hdr.second);
        transition accept;
    }
}

#include "../include/skeleton.p4"
