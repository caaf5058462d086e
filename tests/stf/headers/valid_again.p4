// A header that is made invalid in ingress and valid again in egress is emitted; fields written in between survive.

#include <v1model.p4>

header byte_t {
    bit<8> value;
}

struct headers_t {
    byte_t input;
    byte_t middle;
}

struct meta_t {}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.middle.setValid();
        hdr.middle.value = hdr.input.value + 1;
        hdr.input.setInvalid();
        standard_metadata.egress_spec = 2;
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        bit<8> kept = hdr.middle.value;
        hdr.middle.setInvalid();
        hdr.input.setValid();
        hdr.input.value = kept + 1;
    }
}

#include "../include/skeleton.p4"
