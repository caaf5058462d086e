// Random numbers are on the fast path.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
    bit<8> result;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        random(hdr.input.a, 8w0, 8w9);
        random(hdr.input.b, 8w0, 8w9);
        standard_metadata.egress_spec = 2;
    }
}

#include "../stf/include/skeleton.p4"
