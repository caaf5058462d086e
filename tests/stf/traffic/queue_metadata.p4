// In egress of a packet that did not wait enq_qdepth, deq_qdepth and deq_timedelta are 0, and enq_timestamp is between the timestamps of ingress and egress.

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

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.input.a = standard_metadata.enq_qdepth[7:0];
        hdr.input.b = standard_metadata.deq_qdepth[7:0];
        bool ordered = standard_metadata.ingress_global_timestamp[31:0] <= standard_metadata.enq_timestamp
            && standard_metadata.enq_timestamp + standard_metadata.deq_timedelta == standard_metadata.egress_global_timestamp[31:0];
        hdr.input.c = ordered ? 8w1 : 0;
    }
}

#include "../include/skeleton.p4"
