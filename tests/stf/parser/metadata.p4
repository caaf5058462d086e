// The parser reads standard metadata and writes user metadata, and ingress sees it.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

struct headers_t {
    input_t input;
}

struct meta_t {
    bit<8> port;
    bool large;
}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.input);
        meta.port = (bit<8>)standard_metadata.ingress_port;
        meta.large = standard_metadata.packet_length > 2;
        transition accept;
    }
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.input.a = meta.large ? meta.port | 0x80 : meta.port;
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
