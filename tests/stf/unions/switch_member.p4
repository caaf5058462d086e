// Ingress turns the short form into the long one: the short is gone from the packet.

#include <v1model.p4>

header short_t {
    bit<8> value;
}

header long_t {
    bit<24> value;
}

header_union either_t {
    short_t short;
    long_t long;
}

struct headers_t {
    either_t body;
}

struct meta_t {}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.body.short);
        transition accept;
    }
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        bit<8> value = hdr.body.short.value;
        if (value > 0x7F) {
            hdr.body.long.setValid();
            hdr.body.long.value = 16w0xAB00 ++ value;
        } else if (value == 0) {
            hdr.body.short.setInvalid();
        }
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
