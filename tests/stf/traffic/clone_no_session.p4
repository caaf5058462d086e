// A clone to a session that does not exist makes no copy, and the packet goes its way.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
    bit<8> c;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        clone(CloneType.I2E, 9);
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
