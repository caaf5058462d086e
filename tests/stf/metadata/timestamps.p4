// Egress begins no earlier than ingress, and what the queue took is not negative: its numbers are small.

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
        standard_metadata.egress_spec = 2;
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.input.a = (bit<8>)(bit<1>)
                (standard_metadata.egress_global_timestamp >= standard_metadata.ingress_global_timestamp);
        hdr.input.b = (bit<8>)(bit<1>)(standard_metadata.enq_qdepth == 0 && standard_metadata.deq_qdepth == 0);
        hdr.input.c = (bit<8>)(bit<1>)((bit<48>)standard_metadata.enq_timestamp
                >= standard_metadata.ingress_global_timestamp
                && standard_metadata.deq_timedelta < 10000000);
    }
}

#include "../include/skeleton.p4"
