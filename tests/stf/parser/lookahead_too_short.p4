// lookahead and advance past the end of the packet stop the parser with PacketTooShort.

#include <v1model.p4>

#include "../include/error_code.p4"

header report_t {
    bit<8> code;
}

header word_t {
    bit<16> value;
}

struct headers_t {
    report_t report;
    word_t first;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        transition select(packet.lookahead<bit<16>>()) {
            0: skip;
            default: first;
        }
    }

    state skip {
        packet.advance(64);
        transition first;
    }

    state first {
        packet.extract(hdr.first);
        transition accept;
    }
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.report.setValid();
        hdr.report.code = error_code(standard_metadata.parser_error);
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
