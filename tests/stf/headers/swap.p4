// Two headers are swapped through a third, one of them invalid.

#include <v1model.p4>

header byte_t {
    bit<8> value;
}

struct headers_t {
    byte_t input;
    byte_t second;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.input);
        transition select(hdr.input.value) {
            0: accept;
            default: second;
        }
    }

    state second {
        packet.extract(hdr.second);
        transition accept;
    }
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        byte_t old = hdr.input;
        hdr.input = hdr.second;
        hdr.second = old;
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
