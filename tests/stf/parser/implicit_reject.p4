// A state without a transition rejects: the headers extracted before it are kept, and ingress runs all the same.

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
    word_t second;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.first);
        transition select(hdr.first.value) {
            0: stop;
            default: more;
        }
    }

    state stop {
    }

    state more {
        packet.extract(hdr.second);
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
