// A packet that starts again on the slow path must not have written a register before. Counters it is taken back from, and what is
// written behind that place is no obstacle.

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

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    counter(16, CounterType.packets) seen;
    register<bit<8>>(16) last;

    apply {
        seen.count((bit<32>)hdr.input.a);
        if (hdr.input.b == 2) {
            resubmit_preserving_field_list(0); // some: resubmits the packet
        }
        last.write((bit<32>)hdr.input.a, hdr.input.b);
        if (hdr.input.b == 1) {
            resubmit_preserving_field_list(0); // all: resubmits the packet, after state_and_copies.p4:30 writes register `TestIngress.last`, which cannot be taken back
        }
        standard_metadata.egress_spec = 2;
    }
}

#include "../stf/include/skeleton.p4"
