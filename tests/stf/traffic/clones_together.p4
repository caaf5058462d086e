// Clones of some packets of a burst, by sessions of one port and of two, one of which is the packets' own, with and without metadata.

#include <v1model.p4>

header input_t {
    bit<8> kind;
    bit<8> kept;
    bit<8> rid;
    bit<8> length;
}

struct headers_t {
    input_t input;
}

struct meta_t {
    @field_list(1)
    bit<3> kept;
    @field_list(1, 2)
    bit<67> wide;
    bit<8> parsed;
}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.input);
        meta.parsed = hdr.input.kind + (bit<8>) standard_metadata.ingress_port;
        transition accept;
    }
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        meta.kept = (bit<3>) hdr.input.kept;
        meta.wide = (bit<67>) hdr.input.kept << 59;
        standard_metadata.egress_spec = 2;
        if (hdr.input.kind == 1) {
            clone(CloneType.I2E, 7);
        } else if (hdr.input.kind == 2) {
            clone_preserving_field_list(CloneType.I2E, 8, 1);
        } else if (hdr.input.kind == 3) {
            clone_preserving_field_list(CloneType.I2E, 8, 2);
            mark_to_drop(standard_metadata);
        } else if (hdr.input.kind == 4) {
            clone(CloneType.I2E, 9);
        }
        hdr.input.kind = hdr.input.kind + 0x10;
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    counter(8, CounterType.packets_and_bytes) by_type;

    apply {
        by_type.count(standard_metadata.instance_type);
        if (standard_metadata.instance_type == 1) {
            hdr.input.kept = meta.parsed + (bit<8>) meta.kept + (bit<8>) (meta.wide >> 59);
            hdr.input.rid = (bit<8>) standard_metadata.egress_rid + (bit<8>) standard_metadata.ingress_port;
            hdr.input.length = (bit<8>) standard_metadata.packet_length;
            if (standard_metadata.egress_rid == 5) {
                mark_to_drop(standard_metadata);
            }
        }
    }
}

#include "../include/skeleton.p4"
