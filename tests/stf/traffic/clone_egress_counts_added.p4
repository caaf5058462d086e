// Clones from egress are counted without the header that ingress adds: by an indexed counter, by a direct one, and again when a clone is cloned.

#include <v1model.p4>

header input_t {
    bit<8> rounds;
    bit<8> tag;
}

header added_t {
    bit<32> filler;
}

struct headers_t {
    added_t added;
    input_t input;
}

struct meta_t {
    @field_list(1) bit<8> round;
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
    apply {
        hdr.added.setValid();
        hdr.added.filler = 0x11223344;
        standard_metadata.egress_spec = 2;
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    counter(4, CounterType.packets_and_bytes) by_round;
    counter(1, CounterType.bytes) all;
    direct_counter(CounterType.bytes) by_tag;

    action count() {
        by_tag.count();
    }

    table tags {
        key = {
            hdr.input.tag: exact;
        }
        actions = {
            count;
        }
        default_action = count();
        counters = by_tag;
    }

    apply {
        by_round.count((bit<32>)meta.round);
        all.count(0);
        tags.apply();
        if (meta.round < hdr.input.rounds) {
            meta.round = meta.round + 1;
            clone_preserving_field_list(CloneType.E2E, 7, 1);
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
