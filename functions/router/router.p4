// A router for IPv4 and IPv6: longest prefix, resilient ECMP, next hops. What needs more than forwarding is left to the kernel. See README.md.
//
//   wire port 1 ──► routes ─► ECMP ─► next hop ──► wire port 2
//        │  ▲
//        ▼  │       ARP, neighbour discovery, addresses of the router, TTL, MTU, options, unknown neighbours, routing protocols
//   host port 101   (a TAP device: for the kernel it is the interface of port 1)

#include <core.p4>
#include <v1model.p4>
#include "../lib/headers.p4"
#include "../lib/checksum.p4"
#include "../lib/valid.p4"

// Slots of an ECMP group.
#ifndef ECMP_SLOTS
#define ECMP_SLOTS 64
#endif

// Indices of the counter packets.
const bit<32> COUNT_FORWARDED = 0;
const bit<32> COUNT_TO_HOST = 1;
const bit<32> COUNT_FROM_HOST = 2;
const bit<32> DROP_MALFORMED = 3;
const bit<32> DROP_NO_PORT = 4;
const bit<32> DROP_OTHER_STATION = 5;
const bit<32> DROP_MARTIAN = 6;
const bit<32> DROP_ROUTE = 7;
const bit<32> DROP_HOST_RATE = 8;
const bit<32> DROP_NOT_IP = 9;
const bit<32> COUNTS = 10;

struct headers_t {
    ethernet_t ethernet;
    ipv4_t ipv4;
    ipv6_t ipv6;
}

struct metadata_t {
    mac_address_t own_mac;
    bit<9> host_port;
    bit<16> src_port;
    bit<16> dst_port;
    bit<32> group;
    bit<32> next_hop;
    bit<16> mtu;
    bit<1> to_host;
    bit<1> is_dropped;
}

parser RouterParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4: parse_ipv4;
            ETHERTYPE_IPV6: parse_ipv6;
            default: accept;
        }
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        verify(hdr.ipv4.version == 4 && hdr.ipv4.ihl >= 5, error.ParserInvalidArgument);
        // Fragments have no ports: all of a datagram take one path.
        transition select(hdr.ipv4.ihl, hdr.ipv4.more_fragments, hdr.ipv4.frag_offset, hdr.ipv4.protocol) {
            (5, 0, 0, IP_PROTOCOL_TCP): parse_ports;
            (5, 0, 0, IP_PROTOCOL_UDP): parse_ports;
            default: accept;
        }
    }

    state parse_ipv6 {
        packet.extract(hdr.ipv6);
        verify(hdr.ipv6.version == 6, error.ParserInvalidArgument);
        transition select(hdr.ipv6.next_header) {
            IP_PROTOCOL_TCP: parse_ports;
            IP_PROTOCOL_UDP: parse_ports;
            default: accept;
        }
    }

    state parse_ports {
        bit<32> ports = packet.lookahead<bit<32>>();
        meta.src_port = ports[31:16];
        meta.dst_port = ports[15:0];
        transition accept;
    }
}

control RouterVerifyChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        // Packets with options go to the kernel, which verifies them.
        verify_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5,
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_len, hdr.ipv4.identification,
              hdr.ipv4.reserved, hdr.ipv4.dont_fragment, hdr.ipv4.more_fragments, hdr.ipv4.frag_offset, hdr.ipv4.ttl,
              hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr },
            hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control RouterIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    @element_names("forwarded", "to the kernel", "from the kernel", "malformed", "unknown port", "other station",
                   "martian", "dropped by route", "kernel rate", "not IP")
    counter(COUNTS, CounterType.packets_and_bytes) packets;
    // Index 0: frames to the kernel. A meter without rates does not limit.
    meter(1, MeterType.packets) to_host_rate;

    action drop(bit<32> reason) {
        packets.count(reason);
        mark_to_drop(standard_metadata);
    }

    // A port of the host: its frames leave by the wire as they are.
    action from_host(bit<9> port) {
        standard_metadata.egress_spec = port;
    }

    table host_ports {
        key = {
            standard_metadata.ingress_port: exact;
        }
        actions = {
            from_host;
            NoAction;
        }
        default_action = NoAction();
        size = 512;
    }

    action set_interface(mac_address_t mac, bit<9> host_port) {
        meta.own_mac = mac;
        meta.host_port = host_port;
    }

    table interfaces {
        key = {
            standard_metadata.ingress_port: exact;
        }
        actions = {
            set_interface;
            NoAction;
        }
        default_action = NoAction();
        size = 512;
    }

    action to_next_hop(bit<32> next_hop) {
        meta.next_hop = next_hop;
    }

    action to_group(bit<32> group) {
        meta.group = group;
    }

    // An address of the router, a destination without a known neighbour, or one that is unreachable: the kernel answers.
    action to_host() {
        meta.to_host = 1;
    }

    action discard() {
        meta.is_dropped = 1;
    }

    direct_counter(CounterType.packets_and_bytes) usage_ipv4;
    direct_counter(CounterType.packets_and_bytes) usage_ipv6;

    table routes_ipv4 {
        key = {
            hdr.ipv4.dst_addr: lpm;
        }
        actions = {
            to_next_hop;
            to_group;
            to_host;
            discard;
        }
        default_action = to_host();
        counters = usage_ipv4;
        size = 1048576;
    }

    table routes_ipv6 {
        key = {
            hdr.ipv6.dst_addr: lpm;
        }
        actions = {
            to_next_hop;
            to_group;
            to_host;
            discard;
        }
        default_action = to_host();
        counters = usage_ipv6;
        size = 1048576;
    }

    bit<16> slot = 0;

    // Each slot of a group has a next hop. When a next hop goes, only its slots change: the flows of other slots keep their paths.
    table ecmp {
        key = {
            meta.group: exact;
            slot: exact @name("slot");
        }
        actions = {
            to_next_hop;
            to_host;
        }
        default_action = to_host();
        size = 65536;
    }

    action to_port(bit<9> port, mac_address_t src_mac, mac_address_t dst_mac, bit<16> mtu) {
        standard_metadata.egress_spec = port;
        hdr.ethernet.src_addr = src_mac;
        hdr.ethernet.dst_addr = dst_mac;
        meta.mtu = mtu;
    }

    table next_hops {
        key = {
            meta.next_hop: exact;
        }
        actions = {
            to_port;
            to_host;
        }
        default_action = to_host();
        size = 65536;
    }

    // The kernel gets the frame as it came, by the TAP device of the port by which it came.
    action give_to_host(mac_address_t src_mac, mac_address_t dst_mac) {
        hdr.ethernet.src_addr = src_mac;
        hdr.ethernet.dst_addr = dst_mac;
        standard_metadata.egress_spec = meta.host_port;
        packets.count(COUNT_TO_HOST);
    }

    apply {
        if (standard_metadata.parser_error != error.NoError || standard_metadata.checksum_error == 1
            || !hdr.ethernet.isValid()) {
            drop(DROP_MALFORMED);
            return;
        }
        if (host_ports.apply().hit) {
            packets.count(COUNT_FROM_HOST);
            return;
        }
        if (interfaces.apply().miss) {
            drop(DROP_NO_PORT);
            return;
        }
        mac_address_t src_mac = hdr.ethernet.src_addr;
        mac_address_t dst_mac = hdr.ethernet.dst_addr;
        bool is_group_mac = dst_mac[40:40] == 1;
        if (!is_group_mac && dst_mac != meta.own_mac) {
            drop(DROP_OTHER_STATION);
            return;
        }
        bool is_used_up = false;
        bit<16> bytes = 0;
        if (is_group_mac) {
            // ARP, neighbour discovery, routing protocols; multicast is not routed.
            meta.to_host = 1;
        } else if (hdr.ipv4.isValid()) {
            if (has_wrong_ipv4_length(hdr.ipv4, standard_metadata.packet_length)) {
                drop(DROP_MALFORMED);
                return;
            }
            bit<8> first = hdr.ipv4.src_addr[31:24];
            // RFC 1812 §5.3.7: sources that are groups, loopback, 0/8, the broadcast address; destinations 0/8 and loopback. RFC 3927 §2.7: 169.254/16.
            if (first == 0 || first == 127 || first >= 224 || hdr.ipv4.dst_addr[31:24] == 0 || hdr.ipv4.dst_addr[31:24] == 127
                || hdr.ipv4.src_addr[31:16] == 0xa9fe || hdr.ipv4.dst_addr[31:16] == 0xa9fe) {
                drop(DROP_MARTIAN);
                return;
            }
            if (hdr.ipv4.ihl != 5 || hdr.ipv4.dst_addr[31:28] >= 14) {
                meta.to_host = 1;
            } else {
                routes_ipv4.apply();
                is_used_up = hdr.ipv4.ttl <= 1;
                bytes = hdr.ipv4.total_len;
            }
        } else if (hdr.ipv6.isValid()) {
            if (has_wrong_ipv6_length(hdr.ipv6, standard_metadata.packet_length)) {
                drop(DROP_MALFORMED);
                return;
            }
            // RFC 4291 §2.5.2, §2.5.3, §2.7: unspecified, loopback and groups are no sources of routed packets.
            if (hdr.ipv6.src_addr <= 1 || hdr.ipv6.src_addr[127:120] == 0xff || hdr.ipv6.dst_addr <= 1) {
                drop(DROP_MARTIAN);
                return;
            }
            if (hdr.ipv6.next_header == IP_PROTOCOL_HOP_BY_HOP || hdr.ipv6.dst_addr[127:118] == 0x3fa
                || hdr.ipv6.src_addr[127:118] == 0x3fa || hdr.ipv6.dst_addr[127:120] == 0xff) {
                // Hop-by-hop options; link-local addresses are not routed.
                meta.to_host = 1;
            } else {
                routes_ipv6.apply();
                is_used_up = hdr.ipv6.hop_limit <= 1;
                bytes = hdr.ipv6.payload_len + IPV6_BYTES;
            }
        } else if (hdr.ethernet.ether_type == ETHERTYPE_ARP) {
            meta.to_host = 1;
        } else {
            drop(DROP_NOT_IP);
            return;
        }
        if (meta.is_dropped == 1) {
            drop(DROP_ROUTE);
            return;
        }

        if (meta.to_host == 0 && meta.group != 0) {
            // A flow is addresses, protocol and ports; of IPv6 also the flow label (RFC 6438).
            bit<32> flow;
            if (hdr.ipv4.isValid()) {
                hash(flow, HashAlgorithm.crc32, 32w0,
                     { hdr.ipv4.src_addr, hdr.ipv4.dst_addr, hdr.ipv4.protocol, meta.src_port, meta.dst_port },
                     33w0x100000000);
            } else {
                hash(flow, HashAlgorithm.crc32, 32w0,
                     { hdr.ipv6.src_addr, hdr.ipv6.dst_addr, hdr.ipv6.next_header, hdr.ipv6.flow_label, meta.src_port,
                       meta.dst_port }, 33w0x100000000);
            }
            slot = (bit<16>) (flow % ECMP_SLOTS);
            ecmp.apply();
        }
        if (meta.to_host == 0) {
            next_hops.apply();
        }
        if (meta.to_host == 1 || is_used_up || bytes > meta.mtu) {
            bit<2> colour;
            to_host_rate.execute_meter<bit<2>>(0, colour);
            if (colour == V1MODEL_METER_COLOR_RED) {
                drop(DROP_HOST_RATE);
            } else {
                give_to_host(src_mac, dst_mac);
            }
            return;
        }
        if (hdr.ipv4.isValid()) {
            hdr.ipv4.hdr_checksum = checksum_update(hdr.ipv4.hdr_checksum,
                checksum_replace(hdr.ipv4.ttl ++ hdr.ipv4.protocol, (hdr.ipv4.ttl - 1) ++ hdr.ipv4.protocol));
            hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        } else {
            hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;
        }
        packets.count(COUNT_FORWARDED);
    }
}

control RouterEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {}
}

control RouterComputeChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control RouterDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ipv6);
    }
}

V1Switch(RouterParser(), RouterVerifyChecksum(), RouterIngress(), RouterEgress(), RouterComputeChecksum(),
         RouterDeparser()) main;
