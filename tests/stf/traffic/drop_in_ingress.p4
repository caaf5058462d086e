// mark_to_drop in ingress: the packet is gone, egress does not see it.

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
        if (hdr.input.a == 1) {
            mark_to_drop(standard_metadata);
        }
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    counter(1, CounterType.packets) passed;

    apply {
        passed.count(0);
    }
}

#include "../include/skeleton.p4"
