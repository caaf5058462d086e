// Standard and user metadata are zero when ingress begins, also after a packet that set them.

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
    bit<8> value;
    bool flag;
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.input.a = (bit<8>)(standard_metadata.egress_spec | standard_metadata.egress_port) | meta.value;
        hdr.input.b = standard_metadata.mcast_grp[7:0] | standard_metadata.egress_rid[7:0]
                | (bit<8>)standard_metadata.priority;
        hdr.input.c = (bit<8>)standard_metadata.checksum_error | (bit<8>)standard_metadata.instance_type
                | (bit<8>)(bit<1>)(meta.flag || standard_metadata.parser_error != error.NoError);
        meta.value = 0xFF;
        meta.flag = true;
        standard_metadata.priority = 0;
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
