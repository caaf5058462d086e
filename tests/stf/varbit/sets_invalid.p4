// A header with a varbit that is made invalid is not emitted; made valid again it has what is assigned to it.

#include <v1model.p4>

header input_t {
    bit<8> length;
    varbit<64> data;
}

struct headers_t {
    input_t input;
    input_t second;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.input, (bit<32>)packet.lookahead<bit<8>>() * 8);
        packet.extract(hdr.second, (bit<32>)packet.lookahead<bit<8>>() * 8);
        transition accept;
    }
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (hdr.input.length == 1) {
            hdr.input.setInvalid();
        } else if (hdr.input.length == 2) {
            hdr.input.setInvalid();
            hdr.input.setValid();
            hdr.input.length = 0x22;
            hdr.input.data = hdr.second.data;
        }
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
