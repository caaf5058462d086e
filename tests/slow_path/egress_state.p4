// Registers on both sides of the traffic manager are on the fast path.

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

register<bit<8>>(16) shared;

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        shared.write((bit<32>)hdr.input.a, hdr.input.b);
        standard_metadata.egress_spec = 2;
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    register<bit<8>>(16) own;

    apply {
        shared.read(hdr.input.result, (bit<32>)hdr.input.a);
        own.write((bit<32>)hdr.input.a, hdr.input.b);
    }
}

#include "../stf/include/skeleton.p4"
