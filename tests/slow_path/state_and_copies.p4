// A packet that starts again on the slow path must not have changed anything before.

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
    counter(16, CounterType.packets) seen;

    apply {
        seen.count((bit<32>)hdr.input.a);
        if (hdr.input.b == 1) {
            clone(CloneType.I2E, 32w7); // all: clones the packet, and state_and_copies.p4:22 counts in `TestIngress.seen`: the fast path has room for one of both
        }
        standard_metadata.egress_spec = 2;
    }
}

#include "../stf/include/skeleton.p4"
