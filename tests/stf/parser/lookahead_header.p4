// lookahead of a header gives a valid header and leaves the packet where it is.

#include <v1model.p4>

header input_t {
    bit<4> kind;
    bit<4> length;
    bit<8> value;
}

header copy_t {
    bit<8> kind;
    bool valid;
    bit<7> pad;
}

struct headers_t {
    copy_t copy;
    input_t input;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        input_t ahead = packet.lookahead<input_t>();
        hdr.copy.setValid();
        hdr.copy.kind = 4w0 ++ ahead.kind;
        hdr.copy.valid = ahead.isValid();
        hdr.copy.pad = 0;
        transition select(ahead.length) {
            2: take;
            default: accept;
        }
    }

    state take {
        packet.extract(hdr.input);
        transition accept;
    }
}

#include "../include/skeleton.p4"
