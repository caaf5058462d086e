// With V1MODEL_VERSION 20200408 registers, counters and meters have a type for their index, and ports a name.

#define V1MODEL_VERSION 20200408
#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    register<bit<8>, bit<4>>(16) seen;
    counter<bit<4>>(16, CounterType.packets) hits;

    apply {
        bit<8> old;
        seen.read(old, hdr.input.a[3:0]);
        seen.write(hdr.input.a[3:0], old + 1);
        hits.count(hdr.input.a[3:0]);
        hdr.input.b = old;
        PortId_t port = 2;
        standard_metadata.egress_spec = port;
    }
}

#include "../include/skeleton.p4"
