// The two-argument extract reads as many bits as it is told, also none and the maximum; emit writes them.

#include <v1model.p4>

#include "../include/error_code.p4"

header size_t {
    bit<8> bytes_;
}

header body_t {
    bit<8> tag;
    varbit<64> data;
}

header report_t {
    bit<8> code;
}

struct headers_t {
    report_t report;
    size_t size;
    body_t body;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.size);
        packet.extract(hdr.body, (bit<32>)hdr.size.bytes_ * 8);
        transition accept;
    }
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.report.setValid();
        hdr.report.code = error_code(standard_metadata.parser_error);
        if (hdr.body.isValid()) {
            hdr.body.tag = hdr.body.tag + 1;
        }
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
