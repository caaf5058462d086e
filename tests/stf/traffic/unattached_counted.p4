// Egress counts packets for a port that is not attached, and may drop them.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
    bit<8> c;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        standard_metadata.egress_spec = hdr.input.a == 2 ? 9w100 : 9w77;
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    register<bit<8>>(1) packets;

    apply {
        bit<8> count;
        packets.read(count, 0);
        if (standard_metadata.egress_port == 77) {
            packets.write(0, count + 1);
        } else {
            hdr.input.c = count;
        }
        if (hdr.input.a == 1) {
            mark_to_drop(standard_metadata);
        }
    }
}

#include "../include/skeleton.p4"
