// A register of 129-bit values keeps all of the bits; register_write and register_reset of the control plane.

#include <v1model.p4>

header input_t {
    bit<7> index;
    bit<129> value;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    register<bit<129>>(2) wide;

    apply {
        bit<129> old;
        wide.read(old, (bit<32>)hdr.input.index);
        wide.write((bit<32>)hdr.input.index, hdr.input.value);
        hdr.input.value = old;
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
