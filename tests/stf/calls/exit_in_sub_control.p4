// exit two controls deep: every inout on the way out is copied, nothing after the calls is executed.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

control Innermost(inout bit<8> value) {
    apply {
        value = value + 1;
        if (value == 6) {
            exit;
        }
        value = value + 1;
    }
}

control Middle(inout bit<8> value) {
    Innermost() innermost;

    apply {
        bit<8> copy = value;
        innermost.apply(value);
        copy = copy + value;
        value = copy;
    }
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    Middle() middle;

    apply {
        standard_metadata.egress_spec = 2;
        middle.apply(hdr.input.a);
        hdr.input.b = 1;
    }
}

#include "../include/skeleton.p4"
