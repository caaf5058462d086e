// What a packet sees of a queue that is empty, and the choice of a queue, are on the fast path; the parser's error is not chosen there.

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
        standard_metadata.priority = 1;
        standard_metadata.parser_error = error.NoError; // all: writes `standard_metadata.parser_error`, which the fast path takes for fixed
        standard_metadata.egress_spec = 2;
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.input.result = (bit<8>)standard_metadata.enq_qdepth;
    }
}

#include "../stf/include/skeleton.p4"
