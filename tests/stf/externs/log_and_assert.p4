// log_msg, assert and assume that hold change nothing.

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
        log_msg("a packet");
        log_msg("a = {}, b = {}", { hdr.input.a, hdr.input.b });
        assert(hdr.input.isValid());
        assume(hdr.input.a == hdr.input.a);
        hdr.input.result = 1;
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
