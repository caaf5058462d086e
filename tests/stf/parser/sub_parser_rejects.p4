// A sub-parser whose second extract fails: arguments keep what was extracted, unless they overlap.

#include <v1model.p4>

#include "../include/error_code.p4"

header input_t {
    bit<8> a;
}

header byte_t {
    bit<8> value;
}

parser TwoBytes(packet_in packet, out byte_t first, out byte_t second) {
    state start {
        packet.extract(first);
        packet.extract(second);
        transition accept;
    }
}

struct headers_t {
    input_t input;
    byte_t first;
    byte_t second;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    TwoBytes() two;

    state start {
        packet.extract(hdr.input);
        hdr.first.setValid();
        hdr.first.value = 0x55;
        transition select(hdr.input.a) {
            0: apart;
            default: overlapping;
        }
    }
    state apart {
        two.apply(packet, hdr.first, hdr.second);
        transition accept;
    }
    state overlapping {
        two.apply(packet, hdr.first, hdr.first);
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
