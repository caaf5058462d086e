// A packet whose copies are not made in place cannot begin again in general code when ingress has written a register.

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
    register<bit<8>>(16) last;

    apply {
        last.write((bit<32>)hdr.input.a, hdr.input.b);
        standard_metadata.mcast_grp = (bit<16>)hdr.input.a;
        standard_metadata.egress_spec = 2;
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (hdr.input.b == 1) {
            clone(CloneType.E2E, 32w7); // all: may request more copies in egress, so copies for a multicast group are not made in place, in a program whose ingress changes registers or meters before
        }
    }
}

#include "../stf/include/skeleton.p4"
