// Of the fields of headers a clone keeps those that its own list names; others are those of its frame.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
    bit<8> c;
}

struct headers_t {
    input_t input;
}

struct meta_t {
    bit<8> mark;
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        meta.mark = 0x55;
        hdr.input.b = 0x77;
        if (hdr.input.a == 1) {
            clone3(CloneType.I2E, 5, { hdr.input.b, standard_metadata.ingress_port });
        } else if (hdr.input.a == 2) {
            clone3(CloneType.I2E, 5, { meta.mark });
        }
        standard_metadata.egress_spec = 2;
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (standard_metadata.instance_type == 0) {
            if (hdr.input.a == 3) {
                clone3(CloneType.E2E, 6, { hdr.input.c });
            } else if (hdr.input.a == 4) {
                clone3(CloneType.E2E, 6, { meta.mark });
            }
        } else {
            hdr.input.a = hdr.input.a + meta.mark;
        }
    }
}

#include "../include/skeleton.p4"
