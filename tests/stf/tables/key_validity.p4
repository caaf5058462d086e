// The validity of headers as keys.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
    bit<8> result;
}

header extra_t {
    bit<16> value;
}

struct headers_t {
    input_t input;
    extra_t extra;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.input);
        transition extra;
    }

    state extra {
        packet.extract(hdr.extra);
        transition accept;
    }
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    action set(bit<8> value) {
        hdr.input.result = value;
    }

    table chosen {
        key = {
            hdr.extra.isValid(): exact @name("extra_valid");
            hdr.input.a: ternary;
        }
        actions = {
            set;
        }
        default_action = set(0xFF);
    }

    apply {
        chosen.apply();
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
