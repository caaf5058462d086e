// VLAN tags: untagged frames get the tag of their port, tagged ones lose it, stacked tags lose the outer one.

#include <v1model.p4>

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> type;
}

header vlan_t {
    bit<3> priority;
    bit<1> drop_eligible;
    bit<12> id;
    bit<16> type;
}

struct headers_t {
    ethernet_t ethernet;
    vlan_t[3] vlan;
}

struct meta_t {}

parser SwitchParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                    inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            0x8100: vlan;
            0x88A8: vlan;
            default: accept;
        }
    }

    state vlan {
        packet.extract(hdr.vlan.next);
        transition select(hdr.vlan.last.type) {
            0x8100: vlan;
            default: accept;
        }
    }
}

control SwitchVerify(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control SwitchIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    action push(bit<12> id) {
        hdr.vlan.push_front(1);
        hdr.vlan[0].setValid();
        hdr.vlan[0].priority = 0;
        hdr.vlan[0].drop_eligible = 0;
        hdr.vlan[0].id = id;
        hdr.vlan[0].type = hdr.ethernet.type;
        hdr.ethernet.type = 0x8100;
    }

    action pop() {
        hdr.ethernet.type = hdr.vlan[0].type;
        hdr.vlan.pop_front(1);
    }

    table ports {
        key = {
            standard_metadata.ingress_port: exact;
            hdr.vlan[0].isValid(): exact @name("tagged");
        }
        actions = {
            push;
            pop;
            NoAction;
        }
        default_action = NoAction();
    }

    apply {
        ports.apply();
        standard_metadata.egress_spec = standard_metadata.ingress_port ^ 3;
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
