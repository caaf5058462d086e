// Metadata of a resubmitted packet is zero outside the field list; ingress_port and packet_length stay, what ingress did to headers is lost.

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
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        if (standard_metadata.instance_type == 0) {
            meta.lost = 1;
            standard_metadata.egress_spec = 9;
            standard_metadata.mcast_grp = 0;
            hdr.input.a = 0xFF;
            resubmit_preserving_field_list(0);
        } else {
            hdr.input.a = hdr.input.a | (bit<8>)standard_metadata.ingress_port;
            hdr.input.b = standard_metadata.packet_length[7:0];
            hdr.input.c = meta.lost | standard_metadata.egress_spec[7:0];
            standard_metadata.egress_spec = 2;
            truncate(3);
        }
    }
}

#include "../include/skeleton.p4"
