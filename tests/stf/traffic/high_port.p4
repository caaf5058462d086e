// Ports up to 510, the last one before the drop port.

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
        standard_metadata.egress_spec = 8w1 ++ hdr.input.a[0:0];
        if (hdr.input.b == 1) {
            standard_metadata.egress_spec = 510;
        }
    }
}

#include "../include/skeleton.p4"
