// The parser extracts into one member; emitting the union emits that one, and emitting an invalid union emits nothing.

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

header input_t {
    bit<8> kind;
}

struct headers_t {
    input_t input;
    either_t body;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.input);
        transition select(hdr.input.kind) {
            1: short;
            3: long;
            default: accept;
        }
    }

    state short {
        packet.extract(hdr.body.short);
        transition accept;
    }

    state long {
        packet.extract(hdr.body.long);
        transition accept;
    }
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (hdr.body.short.isValid()) {
            hdr.body.short.value = ~hdr.body.short.value;
        } else if (hdr.body.long.isValid()) {
            hdr.body.long.value = hdr.body.long.value + 1;
        }
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
