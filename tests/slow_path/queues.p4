// Values that exist only in queues, and the choice of a queue.

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
        standard_metadata.priority = 1; // all: writes `standard_metadata.priority`, which the fast path takes for fixed
        standard_metadata.egress_spec = 2;
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.input.result = (bit<8>)standard_metadata.enq_qdepth; // all: reads `standard_metadata.enq_qdepth`, which is known only to packets that were queued
    }
}

#include "../stf/include/skeleton.p4"
