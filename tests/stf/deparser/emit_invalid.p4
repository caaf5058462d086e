// Emitting an invalid header writes nothing; what is not emitted is gone, the payload stays.

#include <v1model.p4>

header input_t {
    bit<8> value;
}

struct headers_t {
    input_t input;
    input_t other;
    input_t silent;
}

struct meta_t {}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.silent = { 0x33 };
        if (hdr.input.value == 1) {
            hdr.other = { 0x44 };
        } else if (hdr.input.value == 2) {
            hdr.input.setInvalid();
        }
        standard_metadata.egress_spec = 2;
    }
}

#define DEPARSER TestDeparser
control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.other);
        packet.emit(hdr.input);
    }
}

#include "../include/skeleton.p4"
