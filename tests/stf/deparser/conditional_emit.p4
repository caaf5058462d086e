// Conditions in a deparser decide what is emitted.

#include <v1model.p4>

header input_t {
    bit<8> value;
}

struct headers_t {
    input_t input;
    input_t long_one;
    input_t short_one;
}

struct meta_t {}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.long_one = { 0x1A };
        hdr.short_one = { 0x1B };
        standard_metadata.egress_spec = 2;
    }
}

#define DEPARSER TestDeparser
control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.input);
        if (hdr.input.value > 0x7F) {
            packet.emit(hdr.long_one);
        } else if (hdr.input.value != 0) {
            packet.emit(hdr.short_one);
        }
    }
}

#include "../include/skeleton.p4"
