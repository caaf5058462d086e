// A packet that is cloned after it has written a register has written it once.

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
    @field_list(1) bit<8> kept;
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    register<bit<8>>(1) seen;

    apply {
        bit<8> count;
        seen.read(count, 0);
        count = count + 1;
        seen.write(0, count);
        if (hdr.input.b == 1) {
            clone_preserving_field_list(CloneType.I2E, 7, 1);
        }
        meta.kept = count;
        hdr.input.result = count;
        standard_metadata.egress_spec = 2;
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (standard_metadata.instance_type == 1) {
            hdr.input.a = meta.kept;
        }
    }
}

#include "../include/skeleton.p4"
