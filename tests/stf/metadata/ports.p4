// ingress_port is the port of arrival, in ingress and in egress; egress_port is known in egress.

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
        hdr.input.a = (bit<8>)standard_metadata.ingress_port;
        standard_metadata.egress_spec = standard_metadata.ingress_port + 1;
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.input.b = (bit<8>)standard_metadata.egress_port;
        hdr.input.c = (bit<8>)standard_metadata.ingress_port;
    }
}

#include "../include/skeleton.p4"
