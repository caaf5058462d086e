// A write to an invalid header is not seen after the header is made valid and set.

#include <v1model.p4>

header byte_t {
    bit<8> value;
}

struct headers_t {
    byte_t input;
    byte_t extra;
}

struct meta_t {}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.extra.value = 0x11;
        if (hdr.input.value == 1) {
            hdr.extra.setValid();
            hdr.extra.value = 0x22;
        }
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
