// A hash that does not fit its result loses its upper bits; base is added before that.

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
        bit<4> narrow;
        hash(narrow, HashAlgorithm.identity, 16w9, { hdr.input.a }, 32w256);
        hdr.input.result = 4w0 ++ narrow;
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
