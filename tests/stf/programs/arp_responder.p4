// A switch that answers ARP requests for the addresses in its table and sends the answer back.

#include <v1model.p4>

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> type;
}

header arp_t {
    bit<64> preamble;
    bit<48> sender_mac;
    bit<32> sender_ip;
    bit<48> target_mac;
    bit<32> target_ip;
}

struct headers_t {
    ethernet_t ethernet;
    arp_t arp;
}

struct meta_t {}

const bit<64> ARP_REQUEST = 0x0001_0800_0604_0001;

parser SwitchParser(packet_in packet, out headers_t hdr, inout meta_t meta,
                    inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type, packet.lookahead<bit<64>>()) {
            (0x0806, ARP_REQUEST): arp;
            default: accept;
        }
    }

    state arp {
        packet.extract(hdr.arp);
        transition accept;
    }
}

control SwitchVerify(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control SwitchIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    action answer(bit<48> mac) {
        bit<32> asked = hdr.arp.target_ip;
        hdr.arp.preamble[15:0] = 2;
        hdr.arp.target_mac = hdr.arp.sender_mac;
        hdr.arp.target_ip = hdr.arp.sender_ip;
        hdr.arp.sender_mac = mac;
        hdr.arp.sender_ip = asked;
        hdr.ethernet.destination = hdr.ethernet.source;
        hdr.ethernet.source = mac;
        standard_metadata.egress_spec = standard_metadata.ingress_port;
    }

    action drop() {
        mark_to_drop(standard_metadata);
    }

    table hosts {
        key = {
            hdr.arp.target_ip: exact;
        }
        actions = {
            answer;
            drop;
        }
        default_action = drop();
    }

    apply {
        if (hdr.arp.isValid()) {
            hosts.apply();
        } else {
            drop();
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
