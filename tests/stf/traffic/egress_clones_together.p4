// Clones from egress of some packets of a burst, with headers that egress has added, removed and changed, by sessions of one port and of
// two, one of which is the packets' own, with and without metadata.

#include <v1model.p4>

header input_t {
    bit<8> kind;
    bit<8> kept;
    bit<8> rid;
    bit<8> length;
}

header narrow_t {
    bit<3> first;
    bit<13> second;
}

header wide_t {
    bit<4> first;
    bit<140> second;
}

struct headers_t {
    input_t input;
    narrow_t parsed;
    wide_t added;
    narrow_t unseen;
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
        transition select(hdr.input.kind[7:7]) {
            1: more;
            default: accept;
        }
    }

    state more {
        packet.extract(hdr.parsed);
        transition accept;
    }
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        meta.kept = (bit<3>) hdr.input.kept;
        meta.wide = (bit<67>) hdr.input.kept << 59;
        standard_metadata.egress_spec = 2;
        if (hdr.input.kind[6:6] == 1) {
            hdr.unseen.setValid();
            hdr.unseen.first = 5;
            hdr.unseen.second = 300;
        }
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    counter(8, CounterType.packets_and_bytes) by_type;

    apply {
        by_type.count(standard_metadata.instance_type);
        if (standard_metadata.instance_type == 2) {
            hdr.input.kept = meta.parsed + (bit<8>) meta.kept + (bit<8>) (meta.wide >> 59);
            hdr.input.rid = (bit<8>) standard_metadata.egress_rid + (bit<8>) standard_metadata.ingress_port;
            hdr.input.length = (bit<8>) standard_metadata.packet_length;
            if (hdr.unseen.isValid()) {
                hdr.input.rid = (bit<8>) hdr.unseen.second + (bit<8>) hdr.unseen.first;
            }
            if (standard_metadata.egress_rid == 5) {
                mark_to_drop(standard_metadata);
            }
        } else {
            if (hdr.input.kind[5:5] == 1) {
                hdr.added.setValid();
                hdr.added.first = 9;
                hdr.added.second = (bit<140>) hdr.input.kept << 80;
            }
            if (hdr.input.kind[4:4] == 1) {
                hdr.parsed.setInvalid();
            }
            if (hdr.parsed.isValid()) {
                hdr.parsed.second = hdr.parsed.second + 1;
            }
            if (hdr.input.kind[2:0] == 1) {
                clone(CloneType.E2E, 7);
            } else if (hdr.input.kind[2:0] == 2) {
                clone_preserving_field_list(CloneType.E2E, 8, 1);
            } else if (hdr.input.kind[2:0] == 3) {
                clone_preserving_field_list(CloneType.E2E, 8, 2);
                mark_to_drop(standard_metadata);
            } else if (hdr.input.kind[2:0] == 4) {
                clone(CloneType.E2E, 9);
            } else if (hdr.input.kind[2:0] == 5) {
                clone(CloneType.E2E, 1);
            }
        }
    }
}

#define DEPARSER TestDeparser
control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.input);
        packet.emit(hdr.parsed);
        packet.emit(hdr.added);
    }
}

#include "../include/skeleton.p4"
