// A packet that starts again on the slow path must not have written a register before. Counters it is taken back from, and what is
// written behind that place is no obstacle. A packet that is resubmitted does not start again: its pass is complete.

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
    counter(16, CounterType.packets) seen;
    register<bit<8>>(16) last;

    apply {
        learn_t learn = { hdr.input.a };
        seen.count((bit<32>)hdr.input.a);
        assert(hdr.input.a != 0);
        if (hdr.input.b == 2) {
            digest<learn_t>(1, learn); // some: sends a digest
        }
        last.write((bit<32>)hdr.input.a, hdr.input.b);
        if (hdr.input.b == 1) {
            digest<learn_t>(1, learn); // all: sends a digest, after state_and_copies.p4:36 writes register `TestIngress.last`, which cannot be taken back
        } else if (hdr.input.b == 3) {
            resubmit_preserving_field_list(0); // some: resubmits the packet, which then takes the slow path
        }
        standard_metadata.egress_spec = 2;
    }
}

#include "../stf/include/skeleton.p4"
