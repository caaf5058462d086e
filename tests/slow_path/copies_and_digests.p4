// Packets that are cloned or sent back take the slow path; all others, and those that send digests, stay on the fast one.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
    bit<8> result;
}

struct headers_t {
    input_t input;
}

struct meta_t {
    @field_list(0) bit<8> kept;
}

struct learn_t {
    bit<8> a;
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        learn_t learn = { hdr.input.a };
        if (hdr.input.b == 1) {
            digest<learn_t>(1, learn);
        } else if (hdr.input.b == 2) {
            clone(CloneType.I2E, 32w7); // some: clones the packet; only the clone takes the slow path
        } else if (hdr.input.b == 3) {
            resubmit_preserving_field_list(0); // some: resubmits the packet, which then takes the slow path
        }
        standard_metadata.egress_spec = 2;
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (hdr.input.b == 4) {
            recirculate_preserving_field_list(0);
        }
    }
}

#include "../stf/include/skeleton.p4"
