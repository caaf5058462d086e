// After a failed extract nothing was consumed: all of the bytes that are left are payload.

#include <v1model.p4>

#include "../include/error_code.p4"

header report_t {
    bit<8> code;
}

header word_t {
    bit<16> value;
}

header long_t {
    bit<64> value;
}

struct headers_t {
    report_t report;
    word_t first;
    long_t second;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.first);
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
