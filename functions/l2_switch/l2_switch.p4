// An Ethernet bridge with VLANs (IEEE 802.1Q): learning by digest, ageing by idle time-outs, a flood group for each VLAN. See README.md.
//
// -D STORM_CONTROL adds meters for broadcast, unknown unicast and multicast frames of each port.

#include <core.p4>
#include <v1model.p4>
#include "../lib/headers.p4"

#ifndef CPU_PORT
#define CPU_PORT 510
#endif

const bit<9> TO_CONTROLLER = CPU_PORT;
const bit<32> LEARN_RECEIVER = 1;

// States of a port (IEEE 802.1Q §8.4): a blocked port accepts only frames to reserved addresses, for spanning trees.
const bit<2> PORT_BLOCKED = 0;
const bit<2> PORT_LEARNING = 1;
const bit<2> PORT_FORWARDING = 2;

// Indices of the counter drops.
const bit<32> DROP_MALFORMED = 0;
const bit<32> DROP_NO_PORT = 1;
const bit<32> DROP_STATE = 2;
const bit<32> DROP_NOT_MEMBER = 3;
const bit<32> DROP_SAME_PORT = 4;
const bit<32> DROP_FILTERED = 5;
const bit<32> DROP_STORM = 6;
const bit<32> DROP_BAD_SOURCE = 7;
const bit<32> DROPS = 8;

@controller_header("packet_in")
header packet_in_t {
    bit<9> ingress_port;
    bit<7> padding;
}

@controller_header("packet_out")
header packet_out_t {
    bit<9> egress_port;
    bit<7> padding;
}

struct headers_t {
    packet_out_t packet_out;
    packet_in_t packet_in;
    ethernet_t ethernet;
    vlan_t vlan;
}

struct metadata_t {
    bit<12> vid;
    bit<2> state;
    bit<9> known_port;
    // A frame from the controller, which leaves as it is.
    bit<1> is_from_controller;
}

// A source address that is new in its VLAN, or has moved.
struct learn_t {
    bit<12> vid;
    mac_address_t address;
    bit<9> port;
}

parser SwitchParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    state start {
        transition select(standard_metadata.ingress_port) {
            TO_CONTROLLER: parse_packet_out;
            default: parse_ethernet;
        }
    }

    state parse_packet_out {
        packet.extract(hdr.packet_out);
        transition parse_ethernet;
    }

    state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_VLAN: parse_vlan;
            default: accept;
        }
    }

    state parse_vlan {
        packet.extract(hdr.vlan);
        transition accept;
    }
}

control SwitchVerifyChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control SwitchIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    @element_names("malformed", "unknown port", "state of the port", "not a member", "same port", "filtered", "storm",
                   "wrong source")
    counter(DROPS, CounterType.packets) drops;

    action drop(bit<32> reason) {
        drops.count(reason);
        mark_to_drop(standard_metadata);
    }

    // `pvid`: the VLAN of frames without a tag, 0 for none.
    action set_port(bit<12> pvid, bit<2> state) {
        meta.vid = pvid;
        meta.state = state;
    }

    table ports {
        key = {
            standard_metadata.ingress_port: exact;
        }
        actions = {
            set_port;
            NoAction;
        }
        default_action = NoAction();
        size = 512;
    }

    // Ports that take frames of a VLAN.
    table members {
        key = {
            meta.vid: exact;
            standard_metadata.ingress_port: exact;
        }
        actions = {
            NoAction;
        }
        size = 65536;
    }

    action known(bit<9> port) {
        meta.known_port = port;
    }

    // Addresses that are known. An idle notification tells the controller of those without frames.
    table source_addresses {
        key = {
            meta.vid: exact;
            hdr.ethernet.src_addr: exact;
        }
        actions = {
            known;
            NoAction;
        }
        default_action = NoAction();
        support_timeout = true;
        size = 1048576;
    }

    action forward(bit<9> port) {
        standard_metadata.egress_spec = port;
    }

    action to_group(bit<16> group) {
        standard_metadata.mcast_grp = group;
    }

    action filter() {
        drops.count(DROP_FILTERED);
        mark_to_drop(standard_metadata);
    }

    direct_counter(CounterType.packets_and_bytes) usage;

    // Learnt addresses, groups of multicast addresses, addresses that are filtered.
    table destinations {
        key = {
            meta.vid: exact;
            hdr.ethernet.dst_addr: exact;
        }
        actions = {
            forward;
            to_group;
            filter;
            NoAction;
        }
        default_action = NoAction();
        counters = usage;
        size = 1048576;
    }

#ifdef STORM_CONTROL
    // By ingress port: flooded frames. A meter without rates does not limit.
    meter(512, MeterType.bytes) storms;
#endif

    apply {
        if (hdr.packet_out.isValid()) {
            meta.is_from_controller = 1;
            standard_metadata.egress_spec = hdr.packet_out.egress_port;
            hdr.packet_out.setInvalid();
            return;
        }
        if (standard_metadata.parser_error != error.NoError || !hdr.ethernet.isValid()) {
            drop(DROP_MALFORMED);
            return;
        }
        if (ports.apply().miss) {
            drop(DROP_NO_PORT);
            return;
        }
        // Reserved addresses (IEEE 802.1Q §8.6.3): spanning trees, LACP, LLDP. A bridge forwards none of them.
        if (hdr.ethernet.dst_addr[47:4] == 0x0180c200000) {
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = standard_metadata.ingress_port;
            hdr.packet_in.padding = 0;
            standard_metadata.egress_spec = TO_CONTROLLER;
            return;
        }
        if (meta.state == PORT_BLOCKED) {
            drop(DROP_STATE);
            return;
        }
        // A tag with VLAN 0 has a priority and no VLAN.
        if (hdr.vlan.isValid() && hdr.vlan.vid != 0) {
            meta.vid = hdr.vlan.vid;
        }
        if (members.apply().miss) {
            drop(DROP_NOT_MEMBER);
            return;
        }
        // The source of a frame is one station: never a group, never zero.
        if (hdr.ethernet.src_addr[40:40] == 1 || hdr.ethernet.src_addr == 0) {
            drop(DROP_BAD_SOURCE);
            return;
        }
        if (source_addresses.apply().miss || meta.known_port != standard_metadata.ingress_port) {
            digest<learn_t>(LEARN_RECEIVER, { meta.vid, hdr.ethernet.src_addr, standard_metadata.ingress_port });
        }
        if (meta.state == PORT_LEARNING) {
            drop(DROP_STATE);
            return;
        }
        bool is_known = destinations.apply().hit;
        if (!is_known) {
            // The flood group of a VLAN has the number of the VLAN.
            to_group((bit<16>) meta.vid);
        } else if (standard_metadata.mcast_grp == 0 && standard_metadata.egress_spec == standard_metadata.ingress_port) {
            drop(DROP_SAME_PORT);
            return;
        }
#ifdef STORM_CONTROL
        if (standard_metadata.mcast_grp != 0) {
            bit<2> colour;
            storms.execute_meter<bit<2>>((bit<32>) standard_metadata.ingress_port, colour);
            if (colour == V1MODEL_METER_COLOR_RED) {
                drop(DROP_STORM);
            }
        }
#endif
    }
}

control SwitchEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    action drop() {
        mark_to_drop(standard_metadata);
    }

    action tagged() {
        if (!hdr.vlan.isValid()) {
            hdr.vlan.setValid();
            hdr.vlan.pcp = 0;
            hdr.vlan.dei = 0;
            hdr.vlan.ether_type = hdr.ethernet.ether_type;
            hdr.ethernet.ether_type = ETHERTYPE_VLAN;
        }
        hdr.vlan.vid = meta.vid;
    }

    action untagged() {
        if (hdr.vlan.isValid()) {
            hdr.ethernet.ether_type = hdr.vlan.ether_type;
            hdr.vlan.setInvalid();
        }
    }

    // How frames of a VLAN leave by each of its ports. Other ports drop them.
    table egress_members {
        key = {
            meta.vid: exact;
            standard_metadata.egress_port: exact;
        }
        actions = {
            tagged;
            untagged;
            drop;
        }
        default_action = drop();
        size = 65536;
    }

    apply {
        if (meta.is_from_controller == 1 || standard_metadata.egress_port == TO_CONTROLLER) {
            return;
        }
        // A flood group has all ports of its VLAN, also the one of arrival.
        if (standard_metadata.egress_port == standard_metadata.ingress_port) {
            drop();
        } else {
            egress_members.apply();
        }
    }
}

control SwitchComputeChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control SwitchDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.vlan);
    }
}

V1Switch(SwitchParser(), SwitchVerifyChecksum(), SwitchIngress(), SwitchEgress(), SwitchComputeChecksum(),
         SwitchDeparser()) main;
