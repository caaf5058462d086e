// A parser that accepts at once: everything is payload; a header is put in front of it.

#include <v1model.p4>

header input_t {
    bit<8> value;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        transition accept;
    }
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.input = { 0x99 };
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
