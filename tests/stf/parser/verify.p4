// verify with an error of the core library and with one of the program stops the parser at once.

#include <v1model.p4>

error {
    TooLarge
}

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
        verify(hdr.first.value != 0, error.ParserInvalidArgument);
        verify(hdr.first.value < 0x8000, error.TooLarge);
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

        if (standard_metadata.parser_error == error.TooLarge && hdr.second.isValid()) {
            hdr.report.code = 0xEE;
        }
    }
}

#include "../include/skeleton.p4"
