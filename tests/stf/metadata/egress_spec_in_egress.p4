// In egress egress_spec has no effect but for the drop port: the packet leaves by egress_port.

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
        standard_metadata.egress_spec = 5;
        hdr.input.a = (bit<8>)standard_metadata.egress_port;
    }
}

#include "../include/skeleton.p4"
