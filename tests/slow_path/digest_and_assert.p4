// A packet that fails an assertion sends no digest: where there are assertions, packets with digests take the slow path.

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

struct learn_t {
    bit<8> a;
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        learn_t learn = { hdr.input.a };
        digest<learn_t>(1, learn); // some: sends a digest
        assert(hdr.input.b != 9);
        standard_metadata.egress_spec = 2;
    }
}

#include "../stf/include/skeleton.p4"
