// exit in an action ends the action, the control and its callers; the values of inout parameters are copied out.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

control Inner(inout bit<8> value) {
    action leave(inout bit<8> x) {
        x = x + 1;
        if (x > 10) {
            exit;
        }
        x = x + 100;
    }

    apply {
        leave(value);
        value = value + 50;
    }
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    Inner() inner;

    apply {
        standard_metadata.egress_spec = 2;
        inner.apply(hdr.input.a);
        hdr.input.b = 0xBB;
    }
}

#include "../include/skeleton.p4"
