// ARP, neighbour discovery and pings to the UPF itself, and the routes of packets.

#ifndef UPF_ROUTE_P4
#define UPF_ROUTE_P4

#include "packet.p4"

// Answers ARP, neighbour solicitations and echo requests for the addresses of the UPF itself. `is_own`: the packet is to one of them.
control Local(inout headers_t hdr, in bit<9> ingress_port, inout bit<9> egress_spec, out bool is_own, out bool answered) {
    AdvertiseNeighbour() advertise;
    AnswerPing() answer_ping;
    AnswerPingIpv6() answer_ping_ipv6;
    mac_address_t own_mac = 0;

    action own(mac_address_t mac) {
        own_mac = mac;
    }

    table own_ipv4 {
        key = {
            hdr.ipv4.dst_addr: exact;
        }
        actions = {
            own;
            NoAction;
        }
        default_action = NoAction();
        size = 64;
    }

    table own_ipv6 {
        key = {
            hdr.ipv6.dst_addr: exact;
        }
        actions = {
            own;
            NoAction;
        }
        default_action = NoAction();
        size = 64;
    }

    // Addresses for which ARP is answered.
    table arp_ipv4 {
        key = {
            hdr.arp.target_ip: exact;
        }
        actions = {
            own;
            NoAction;
        }
        default_action = NoAction();
        size = 64;
    }

    // Addresses for which neighbour solicitations are answered.
    table nd_ipv6 {
        key = {
            hdr.neighbour.target: exact;
        }
        actions = {
            own;
            NoAction;
        }
        default_action = NoAction();
        size = 64;
    }

    // Back to where the packet came from.
    action send_back() {
        egress_spec = ingress_port;
    }

    action answer_arp() {
        hdr.ethernet.dst_addr = hdr.arp.sender_mac;
        hdr.ethernet.src_addr = own_mac;
        hdr.arp.operation = ARP_REPLY;
        hdr.arp.target_mac = hdr.arp.sender_mac;
        ipv4_address_t own_address = hdr.arp.target_ip;
        hdr.arp.target_ip = hdr.arp.sender_ip;
        hdr.arp.sender_mac = own_mac;
        hdr.arp.sender_ip = own_address;
        send_back();
    }

    apply {
        is_own = false;
        answered = false;
        if (hdr.arp.isValid()) {
            if (hdr.arp.operation == ARP_REQUEST && arp_ipv4.apply().hit) {
                answer_arp();
                answered = true;
            }
        } else if (hdr.ipv4.isValid()) {
            is_own = own_ipv4.apply().hit;
            if (is_own && hdr.icmp.isValid() && hdr.icmp.type == ICMP_ECHO_REQUEST && hdr.icmp.code == 0) {
                answer_ping.apply(hdr.ethernet, hdr.ipv4, hdr.icmp);
                send_back();
                answered = true;
            }
        } else if (hdr.neighbour.isValid()) {
            if (is_answerable(hdr.ipv6, hdr.icmpv6, hdr.neighbour) && nd_ipv6.apply().hit) {
                advertise.apply(hdr.ethernet, hdr.ipv6, hdr.icmpv6, hdr.neighbour, own_mac);
                send_back();
                answered = true;
            } else {
                is_own = own_ipv6.apply().hit;
            }
        } else if (hdr.ipv6.isValid()) {
            is_own = own_ipv6.apply().hit;
            if (is_own && hdr.icmpv6.isValid() && hdr.icmpv6.type == ICMPV6_ECHO_REQUEST && hdr.icmpv6.code == 0) {
                answer_ping_ipv6.apply(hdr.ethernet, hdr.ipv6, hdr.icmpv6);
                send_back();
                answered = true;
            }
        }
    }
}

// Port and MAC addresses for the outermost IP header.
control Route(inout headers_t hdr, inout metadata_t meta, inout bit<9> egress_spec, out bit<32> drop) {
    ipv4_address_t ipv4_dst = 0;
    ipv6_address_t ipv6_dst = 0;

    action to_next_hop(bit<32> next_hop) {
        meta.next_hop = next_hop;
    }

    action no_route() {
        drop = DROP_NO_ROUTE;
    }

    table routes_ipv4 {
        key = {
            ipv4_dst: lpm;
        }
        actions = {
            to_next_hop;
            no_route;
        }
        default_action = no_route();
        size = 65536;
    }

    table routes_ipv6 {
        key = {
            ipv6_dst: lpm;
        }
        actions = {
            to_next_hop;
            no_route;
        }
        default_action = no_route();
        size = 65536;
    }

    // `mtu` is that of the IP packet.
    action to_port(bit<9> port, mac_address_t src_mac, mac_address_t dst_mac, bit<16> mtu) {
        egress_spec = port;
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
            no_route;
        }
        default_action = no_route();
        size = 65536;
    }

    apply {
        drop = DROP_NONE;
        bool is_ipv4;
        bit<16> bytes = meta.ip_bytes;
        if (hdr.tunnel_ipv4.isValid()) {
            is_ipv4 = true;
            ipv4_dst = hdr.tunnel_ipv4.dst_addr;
            bytes = hdr.tunnel_ipv4.total_len;
        } else if (hdr.tunnel_ipv6.isValid()) {
            is_ipv4 = false;
            ipv6_dst = hdr.tunnel_ipv6.dst_addr;
            bytes = hdr.tunnel_ipv6.payload_len + IPV6_BYTES;
        } else if (meta.is_uplink == 1 && hdr.inner_ipv4.isValid()) {
            is_ipv4 = true;
            ipv4_dst = hdr.inner_ipv4.dst_addr;
        } else if (meta.is_uplink == 1) {
            is_ipv4 = false;
            ipv6_dst = hdr.inner_ipv6.dst_addr;
        } else if (hdr.ipv4.isValid()) {
            is_ipv4 = true;
            ipv4_dst = hdr.ipv4.dst_addr;
        } else {
            is_ipv4 = false;
            ipv6_dst = hdr.ipv6.dst_addr;
        }
        if (is_ipv4) {
            routes_ipv4.apply();
            hdr.ethernet.ether_type = ETHERTYPE_IPV4;
        } else {
            routes_ipv6.apply();
            hdr.ethernet.ether_type = ETHERTYPE_IPV6;
        }
        if (drop == DROP_NONE) {
            next_hops.apply();
            if (drop == DROP_NONE && bytes > meta.mtu) {
                drop = DROP_TOO_LONG;
            }
        }
    }
}

// Decreases the TTL of the packet of the user.
control DecreaseTtl(inout ipv4_t ipv4, inout ipv6_t ipv6, out bool is_used_up) {
    apply {
        is_used_up = false;
        if (ipv4.isValid()) {
            is_used_up = ipv4.ttl <= 1;
            ipv4.hdr_checksum = checksum_update(ipv4.hdr_checksum,
                checksum_replace(ipv4.ttl ++ ipv4.protocol, (ipv4.ttl - 1) ++ ipv4.protocol));
            ipv4.ttl = ipv4.ttl - 1;
        } else if (ipv6.isValid()) {
            is_used_up = ipv6.hop_limit <= 1;
            ipv6.hop_limit = ipv6.hop_limit - 1;
        }
    }
}

#endif
