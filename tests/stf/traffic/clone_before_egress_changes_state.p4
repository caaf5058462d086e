// A clone from ingress passes egress before its packet does: both have their numbers from one register.

#include <v1model.p4>

header input_t {
    bit<8> what;
    bit<8> in_ingress;
    bit<8> in_egress;
    bit<8> kept;
}

header added_t {
    bit<8> before;
}

struct headers_t {
    added_t added;
    input_t input;
}

struct meta_t {
    @field_list(1) bit<8> kept;
    bit<12> crosses;
}

#define PARSER TestParser
parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.input);
        transition accept;
    }
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    register<bit<8>>(1) arrived;

    apply {
        bit<8> count;
        arrived.read(count, 0);
        count = count + 1;
        arrived.write(0, count);
        hdr.input.in_ingress = count;
        meta.kept = 0xA0 + count;
        meta.crosses = 0x700 + (bit<12>)count;
        standard_metadata.egress_spec = 2;
        if (hdr.input.what >= 1) {
            clone_preserving_field_list(CloneType.I2E, 7, 1);
            hdr.added.setValid();
            hdr.added.before = 0xEE;
        }
        if (hdr.input.what == 2) {
            mark_to_drop(standard_metadata);
        }
        if (hdr.input.what == 3) {
            standard_metadata.mcast_grp = 5;
        }
        if (hdr.input.what == 4 && standard_metadata.instance_type == 0) {
            resubmit_preserving_field_list(1);
        }
        if (hdr.input.what == 5 && standard_metadata.instance_type == 0) {
            recirculate_preserving_field_list(1);
        }
        if (hdr.input.what == 6) {
            truncate(4);
        }
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    register<bit<8>>(1) left;
    counter(2, CounterType.packets_and_bytes) copies;

    apply {
        bit<8> count;
        left.read(count, 0);
        count = count + 1;
        left.write(0, count);
        hdr.input.in_egress = count;
        hdr.input.kept = meta.kept;
        if (standard_metadata.instance_type == 1) {
            copies.count(1);
        } else {
            copies.count(0);
            if (meta.crosses != 0x700 + (bit<12>)hdr.input.in_ingress) {
                hdr.input.what = 0xFF;
            }
        }
    }
}

#define DEPARSER TestDeparser
control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "../include/skeleton.p4"
