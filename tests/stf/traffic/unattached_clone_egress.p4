// Egress runs for a port that is not attached: a clone that it makes leaves by its own port.

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
        standard_metadata.egress_spec = 77;
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (standard_metadata.instance_type == 0) {
            hdr.input.b = (bit<8>)standard_metadata.egress_port;
            clone(CloneType.E2E, 7);
        } else {
            hdr.input.c = (bit<8>)standard_metadata.instance_type;
        }
    }
}

#include "../include/skeleton.p4"
