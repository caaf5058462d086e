// Egress counts clones and other packets in one register: a packet that ingress clones leaves the fast path for egress, after its clone.

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
    register<bit<8>>(1) last;

    apply {
        last.write(0, hdr.input.a);
        if (hdr.input.b == 1) {
            clone(CloneType.I2E, 32w7); // some: clones the packet, which takes the slow path from egress on
        }
        standard_metadata.egress_spec = 2;
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    register<bit<8>>(1) count;

    apply {
        bit<8> value;
        count.read(value, 0);
        count.write(0, value + 1);
        hdr.input.result = value;
    }
}

#include "../stf/include/skeleton.p4"
