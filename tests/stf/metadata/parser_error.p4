// The parser error in ingress: a packet that is too short is answered, not dropped.

#include <v1model.p4>

header short_h {
    bit<8> code;
}

header input_t {
    bit<8> a;
    bit<8> b;
    bit<8> c;
}

struct headers_t {
    short_h short_;
    input_t input;
}

struct meta_t {}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        standard_metadata.egress_spec = 2;
        if (standard_metadata.parser_error == error.PacketTooShort) {
            hdr.short_.setValid();
            hdr.short_.code = 0xEE;
        } else if (standard_metadata.parser_error != error.NoError) {
            mark_to_drop(standard_metadata);
        }
    }
}

#include "../include/skeleton.p4"
