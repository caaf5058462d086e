// Copies for a multicast group are made in place, unless egress asserts.

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
    apply {
        standard_metadata.mcast_grp = (bit<16>)hdr.input.a;
        standard_metadata.egress_spec = 2;
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        assert(hdr.input.b != 9);
        if (hdr.input.b == 1) {
            clone(CloneType.E2E, 32w7); // some: may request more copies in egress, so copies for a multicast group are not made in place
        }
    }
}

#include "../stf/include/skeleton.p4"
