// Extracting into another member makes the first one invalid, also within one parser run.

#include <v1model.p4>

header short_t {
    bit<8> value;
}

header long_t {
    bit<24> value;
}

header_union either_t {
    short_t short;
    long_t long;
}

struct headers_t {
    either_t body;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.body.short);
        transition select(hdr.body.short.value) {
            0xFF: again;
            default: accept;
        }
    }

    state again {
        packet.extract(hdr.body.long);
        transition accept;
    }
}

#include "../include/skeleton.p4"
