// A counter array counts packets and bytes at the index that the program gives; outside the array it counts nothing.

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
    counter(8, CounterType.packets_and_bytes) seen;

    apply {
        seen.count((bit<32>)hdr.input.a);
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
