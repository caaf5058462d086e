// Headers leave in the order of the emits, not of the structure; a header may be emitted twice.

#include <v1model.p4>

header input_t {
    bit<8> value;
}

struct headers_t {
    input_t input;
    input_t first;
    input_t second;
}

struct meta_t {}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.first = { 0x11 };
        hdr.second = { 0x22 };
        standard_metadata.egress_spec = 2;
    }
}

#define DEPARSER TestDeparser
control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.second);
        packet.emit(hdr.input);
        packet.emit(hdr.first);
        packet.emit(hdr.second);
    }
}

#include "../include/skeleton.p4"
