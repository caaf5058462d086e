// A clone from ingress is parsed again, then its metadata is zero: what the parser wrote is lost, what the field list has stays.

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
    bit<8> kind;
    @field_list(1)
    bit<8> kept;
}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                  inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.input);
        meta.kind = hdr.input.a;
        transition accept;
    }
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        meta.kept = 9;
        standard_metadata.egress_spec = 2;
        clone_preserving_field_list(CloneType.I2E, 7, 1);
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.input.b = meta.kind;
        hdr.input.c = standard_metadata.instance_type == 1 ? meta.kept : 0;
    }
}

#include "../include/skeleton.p4"
