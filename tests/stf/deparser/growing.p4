// A packet that grows by 300 bytes of headers and one that shrinks.

#include <v1model.p4>

header input_t {
    bit<8> count;
}

header big_t {
    bit<1024> value;
}

struct headers_t {
    big_t[3] big;
    input_t input;
}

struct meta_t {}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        for (bit<8> i in 8w0 .. 2) {
            if (i < hdr.input.count) {
                hdr.big[i].setValid();
                hdr.big[i].value = (bit<1024>)i + 1 << 1016;
            }
        }
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
