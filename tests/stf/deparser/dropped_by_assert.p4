// What the deparser emitted for a packet that an assertion drops is not seen by the next packet.

#include <v1model.p4>

header input_t {
    bit<8> value;
}

header trailer_t {
    bit<16> value;
}

struct headers_t {
    input_t input;
    trailer_t trailer;
}

struct meta_t {}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.trailer = { 0xBEEF };
        standard_metadata.egress_spec = 2;
    }
}

#define DEPARSER TestDeparser
control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.input);
        assert(hdr.input.value != 0xFF);
        packet.emit(hdr.trailer);
    }
}

#include "../include/skeleton.p4"
