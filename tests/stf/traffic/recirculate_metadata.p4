// Metadata of a recirculated packet is zero outside the field list; ingress_port stays, instance_type is 4.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
    bit<8> c;
}

struct headers_t {
    input_t input;
}

struct meta_t {
    bit<8> lost;
    @field_list(3)
    bit<8> kept;
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (standard_metadata.instance_type == 0) {
            meta.lost = 1;
            meta.kept = 0x40;
            standard_metadata.egress_spec = 9;
        } else {
            hdr.input.a = (bit<8>)standard_metadata.ingress_port;
            hdr.input.b = standard_metadata.packet_length[7:0];
            hdr.input.c = meta.lost | meta.kept | (bit<8>)standard_metadata.instance_type | standard_metadata.egress_spec[7:0];
            standard_metadata.egress_spec = 2;
        }
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (standard_metadata.egress_port == 9) {
            recirculate_preserving_field_list(3);
        } else {
            truncate(3);
        }
    }
}

#include "../include/skeleton.p4"
