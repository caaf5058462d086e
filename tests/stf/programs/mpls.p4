// An MPLS switch: labels are swapped, popped at the last hop, and pushed on IPv4 packets.

#include <v1model.p4>

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> type;
}

header label_t {
    bit<20> label;
    bit<3> traffic_class;
    bit<1> bottom;
    bit<8> ttl;
}

struct headers_t {
    ethernet_t ethernet;
    label_t[4] labels;
}

struct meta_t {}

parser SwitchParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                    inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            0x8847: label;
            default: accept;
        }
    }

    state label {
        packet.extract(hdr.labels.next);
        transition select(hdr.labels.last.bottom) {
            0: label;
            1: accept;
        }
    }
}

control SwitchVerify(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control SwitchIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    action swap(bit<20> label, bit<9> port) {
        hdr.labels[0].label = label;
        standard_metadata.egress_spec = port;
    }

    action pop(bit<9> port) {
        if (hdr.labels[0].bottom == 1) {
            hdr.ethernet.type = 0x0800;
        }
        hdr.labels.pop_front(1);
        standard_metadata.egress_spec = port;
    }

    action push(bit<20> label, bit<9> port) {
        bit<1> bottom = (bit<1>)!hdr.labels[0].isValid();
        hdr.labels.push_front(1);
        hdr.labels[0] = { label, 0, bottom, 64 };
        hdr.ethernet.type = 0x8847;
        standard_metadata.egress_spec = port;
    }

    action drop() {
        mark_to_drop(standard_metadata);
    }

    table labels {
        key = {
            hdr.labels[0].label: exact;
        }
        actions = {
            swap;
            pop;
            push;
            drop;
        }
        default_action = drop();
    }

    apply {
        if (!hdr.labels[0].isValid()) {
            push(77, 9);
        } else if (hdr.labels[0].ttl <= 1) {
            drop();
        } else {
            hdr.labels[0].ttl = hdr.labels[0].ttl - 1;
            labels.apply();
        }
    }
}

control SwitchEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {}
}

control SwitchCompute(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control SwitchDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(SwitchParser(), SwitchVerify(), SwitchIngress(), SwitchEgress(), SwitchCompute(), SwitchDeparser()) main;
