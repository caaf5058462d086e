// A digest is for the control plane; the packet is not changed, and not held back.

#include <v1model.p4>

struct learn_t {
    bit<8> address;
    bit<9> port;
}

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
    apply {
        digest<learn_t>(1, { hdr.input.a, standard_metadata.ingress_port });
        hdr.input.result = 1;
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
