// Counters of ingress and egress count every round.

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
    counter(1, CounterType.packets) rounds;

    apply {
        rounds.count(0);
        standard_metadata.egress_spec = 2;
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    counter(8, CounterType.packets) passes;

    apply {
        passes.count((bit<32>)hdr.input.a);
        if (hdr.input.a < 5) {
            hdr.input.a = hdr.input.a + 1;
            recirculate_preserving_field_list(0);
        }
    }
}

#include "../include/skeleton.p4"
