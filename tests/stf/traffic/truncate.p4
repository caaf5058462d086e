// truncate cuts what leaves after deparsing; a longer one than the packet does nothing, of several the smallest counts.

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
        if (hdr.input.a > 0) {
            truncate((bit<32>)hdr.input.a);
        }
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (hdr.input.b > 0) {
            truncate((bit<32>)hdr.input.b);
        }
    }
}

#include "../include/skeleton.p4"
