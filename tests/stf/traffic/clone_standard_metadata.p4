// In egress of a clone ingress_port is zero; egress_port and packet_length are its own.

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
        standard_metadata.egress_spec = 2;
        clone(CloneType.I2E, 7);
        truncate(3);
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.input.a = (bit<8>)standard_metadata.ingress_port;
        hdr.input.b = standard_metadata.packet_length[7:0];
        hdr.input.c = (bit<8>)standard_metadata.egress_port;
        if (standard_metadata.instance_type == 1) {
            truncate(3);
        }
    }
}

#include "../include/skeleton.p4"
