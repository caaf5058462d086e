// Counters of packets and of bytes, in ingress and in egress; the bytes are those of the packet that arrived.

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
    counter(2, CounterType.packets) in_packets;
    counter(2, CounterType.bytes) in_bytes;

    apply {
        in_packets.count(0);
        in_bytes.count(1);
        hdr.input.setInvalid();
        standard_metadata.egress_spec = 2;
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    counter(1, CounterType.bytes) out_bytes;

    apply {
        out_bytes.count(0);
    }
}

#include "../include/skeleton.p4"
