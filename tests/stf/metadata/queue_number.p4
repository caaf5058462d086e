// Egress reads the number of the packet's queue where v1model.p4 has a field for it, as BMv2 does.
#define priority priority; @alias("queueing_metadata.qid") bit<5> qid
#include <v1model.p4>
#undef priority

header input_t {
    bit<8> priority;
    bit<8> queue;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        standard_metadata.priority = hdr.input.priority[2:0];
        standard_metadata.egress_spec = 2;
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.input.queue = (bit<8>) standard_metadata.qid;
    }
}

#include "../include/skeleton.p4"
