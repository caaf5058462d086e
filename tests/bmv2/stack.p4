// A header stack: `next`, `last`, an index that is not constant, `lastIndex`, push, pop, copies.
header control_t {
    bit<8> operation;
    bit<8> index;
}

header label_t {
    bit<7> value;
    bit<1> is_last;
}

struct headers_t {
    control_t control_header;
    label_t[3] labels;
}

struct metadata_t {
    bit<8> seen;
}

#include "frame.p4"

parser StackParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.control_header);
        transition next_label;
    }
    state next_label {
        packet.extract(hdr.labels.next);
        meta.seen = (bit<8>)hdr.labels.lastIndex;
        transition select(hdr.labels.last.is_last) {
            0: next_label;
            1: accept;
        }
    }
}

control StackIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        standard_metadata.egress_spec = 2;
        if (standard_metadata.parser_error != error.NoError) {
            hdr.control_header.operation = 0xee;
        } else if (hdr.control_header.operation == 1) {
            hdr.labels.push_front(1);
            hdr.labels[0].setValid();
            hdr.labels[0].value = 0x55;
        } else if (hdr.control_header.operation == 2) {
            hdr.labels.pop_front(2);
        } else if (hdr.control_header.operation == 3) {
            hdr.labels[hdr.control_header.index].value = 0x2a;
        } else if (hdr.control_header.operation == 4) {
            hdr.control_header.index = (bit<8>)hdr.labels[hdr.control_header.index].value;
        } else if (hdr.control_header.operation == 5) {
            hdr.labels[2] = hdr.labels[0];
        } else if (hdr.control_header.operation == 6) {
            hdr.control_header.index = meta.seen;
        }
    }
}

V1Switch(StackParser(), NoChecksum(), StackIngress(), NoEgress(), NoChecksum(), EmitAll()) main;
