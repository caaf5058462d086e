// A loop that reads nothing and never ends is stopped with ParserTimeout.

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
        packet.extract(hdr.first);
        transition select(hdr.first.value) {
            0: forever;
            default: accept;
        }
    }

    state forever {
        transition forever;
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
