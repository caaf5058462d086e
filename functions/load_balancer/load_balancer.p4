// A load balancer for TCP and UDP, IPv4 and IPv6: Maglev with weights, a connection table, direct return (IPIP, GUE, MAC) or NAT,
// ICMP errors to the right back end. See README.md.

#include <core.p4>
#include <v1model.p4>
#include "packet.p4"
#include "connections.p4"
#include "rewrite.p4"

control LbVerifyChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5,
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_len, hdr.ipv4.identification,
              hdr.ipv4.reserved, hdr.ipv4.dont_fragment, hdr.ipv4.more_fragments, hdr.ipv4.frag_offset, hdr.ipv4.ttl,
              hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr },
            hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
        verify_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl > 5,
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_len, hdr.ipv4.identification,
              hdr.ipv4.reserved, hdr.ipv4.dont_fragment, hdr.ipv4.more_fragments, hdr.ipv4.frag_offset, hdr.ipv4.ttl,
              hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr,
              hdr.ipv4_options.options },
            hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

// The virtual service that a packet is for: address, protocol and port.
control Services(in headers_t hdr, inout metadata_t meta, out bool found) {
    direct_counter(CounterType.packets_and_bytes) usage_ipv4;
    direct_counter(CounterType.packets_and_bytes) usage_ipv6;

    // `idle_seconds`: how long a connection without packets is remembered.
    action set_service(bit<16> service, bit<16> idle_seconds) {
        meta.service = service;
        meta.idle_seconds = idle_seconds;
    }

    table services_ipv4 {
        key = {
            hdr.ipv4.dst_addr: exact;
            meta.protocol: exact;
            meta.service_port: exact;
        }
        actions = {
            set_service;
            NoAction;
        }
        default_action = NoAction();
        counters = usage_ipv4;
        size = 4096;
    }

    table services_ipv6 {
        key = {
            hdr.ipv6.dst_addr: exact;
            meta.protocol: exact;
            meta.service_port: exact;
        }
        actions = {
            set_service;
            NoAction;
        }
        default_action = NoAction();
        counters = usage_ipv6;
        size = 4096;
    }

    apply {
        if (hdr.ipv4.isValid()) {
            found = services_ipv4.apply().hit;
        } else {
            found = services_ipv6.apply().hit;
        }
    }
}

// Whether the lengths in the headers disagree with each other or with the frame.
bool has_wrong_lengths(in headers_t hdr, in bit<1> is_error, in bit<32> frame_bytes) {
    bit<16> bytes = hdr.ipv4.isValid() ? ipv4_payload_bytes(hdr.ipv4) : hdr.ipv6.payload_len;
    return hdr.ipv4.isValid() && has_wrong_ipv4_length(hdr.ipv4, frame_bytes)
        || hdr.ipv6.isValid() && has_wrong_ipv6_length(hdr.ipv6, frame_bytes)
        || hdr.tcp.isValid() && has_wrong_tcp_length(hdr.tcp, bytes)
        || hdr.udp.isValid() && has_wrong_udp_length(hdr.udp, bytes, 0)
        || hdr.icmp.isValid() && bytes < ICMP_BYTES
        || hdr.icmpv6.isValid() && bytes < ICMP_BYTES
        || is_error == 1 && bytes < ICMP_BYTES + 8 + (hdr.inner_ipv4.isValid() ? (bit<16>) hdr.inner_ipv4.ihl << 2 : IPV6_BYTES);
}

control LbIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    AnswerArp() answer_arp;
    AnswerNeighbour() answer_neighbour;
    AnswerPing() answer_ping;
    AnswerPingIpv6() answer_ping_ipv6;
    Services() services;
    ChooseBackend() choose_backend;
    ToBackend() to_backend;
    FromBackend() from_backend;

    @element_names("malformed", "no route", "no back end", "TTL", "too long", "fragment", "not IP",
                   "not forwardable address", "no service", "other station")
    counter(DROPS, CounterType.packets) drops;

    action drop(bit<32> reason) {
        drops.count(reason);
        mark_to_drop(standard_metadata);
    }

    // Addresses of the services and of the load balancer: they are not routed, and answer pings.
    table own_ipv4 {
        key = {
            hdr.ipv4.dst_addr: exact;
        }
        actions = {
            NoAction;
        }
        size = 4096;
    }

    table own_ipv6 {
        key = {
            hdr.ipv6.dst_addr: exact;
        }
        actions = {
            NoAction;
        }
        size = 4096;
    }

    bool is_foreign = false;

    action is_other() {
        is_foreign = true;
    }

    // The load balancer's own MAC addresses. With `is_other` for all else, frames to other stations, which bridges flood, are dropped.
    table stations {
        key = {
            standard_metadata.ingress_port: exact @name("port");
            hdr.ethernet.dst_addr: exact @name("address");
        }
        actions = {
            NoAction;
            is_other;
        }
        default_action = NoAction();
        size = 4096;
    }

    action to_next_hop(bit<32> next_hop) {
        meta.next_hop = next_hop;
    }

    table routes_ipv4 {
        key = {
            hdr.ipv4.dst_addr: lpm;
        }
        actions = {
            to_next_hop;
            NoAction;
        }
        default_action = NoAction();
        size = 65536;
    }

    table routes_ipv6 {
        key = {
            hdr.ipv6.dst_addr: lpm;
        }
        actions = {
            to_next_hop;
            NoAction;
        }
        default_action = NoAction();
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
            NoAction;
        }
        default_action = NoAction();
        size = 65536;
    }

    apply {
        if (standard_metadata.parser_error != error.NoError || standard_metadata.checksum_error == 1
            || !hdr.ethernet.isValid()) {
            drop(DROP_MALFORMED);
            return;
        }
        if (has_wrong_lengths(hdr, meta.is_error, standard_metadata.packet_length)) {
            drop(DROP_MALFORMED);
            return;
        }
        stations.apply();
        bool is_for_others = is_foreign || hdr.ethernet.dst_addr[40:40] == 1;
        bool is_own = hdr.ipv4.isValid() && own_ipv4.apply().hit;
        bool answered = false;
        if (hdr.arp.isValid()) {
            answer_arp.apply(hdr.ethernet, hdr.arp, standard_metadata.ingress_port, answered);
        } else if (hdr.neighbour.isValid()) {
            answer_neighbour.apply(hdr.ethernet, hdr.ipv6, hdr.icmpv6, hdr.neighbour, standard_metadata.ingress_port, answered);
        } else if (hdr.icmp.isValid() && hdr.icmp.type == ICMP_ECHO_REQUEST && is_own && !is_for_others) {
            answer_ping.apply(hdr.ethernet, hdr.ipv4, hdr.icmp);
            answered = true;
        } else if (hdr.icmpv6.isValid() && hdr.icmpv6.type == ICMPV6_ECHO_REQUEST && !is_for_others && own_ipv6.apply().hit) {
            answer_ping_ipv6.apply(hdr.ethernet, hdr.ipv6, hdr.icmpv6);
            answered = true;
        }
        if (answered) {
            standard_metadata.egress_spec = standard_metadata.ingress_port;
            return;
        }
        if (!hdr.ipv4.isValid() && !hdr.ipv6.isValid()) {
            drop(DROP_NOT_IP);
            return;
        }
        if (is_for_others) {
            drop(DROP_OTHER_STATION);
            return;
        }

        bool is_service;
        services.apply(hdr, meta, is_service);
        if (is_service) {
            bool found;
            choose_backend.apply(hdr, meta, standard_metadata, found);
            if (found) {
                to_backend.apply(hdr, meta, found);
            }
            if (!found) {
                drop(DROP_NO_BACKEND);
                return;
            }
        } else {
            if (hdr.ipv6.isValid()) {
                is_own = own_ipv6.apply().hit;
            }
            if (is_own) {
                drop(meta.is_fragment == 1 ? DROP_FRAGMENT : DROP_NO_SERVICE);
                return;
            }
            if (hdr.ipv4.isValid()
                ? is_never_forwarded_ipv4(hdr.ipv4.src_addr) || is_never_forwarded_ipv4(hdr.ipv4.dst_addr)
                : is_never_forwarded_ipv6(hdr.ipv6.src_addr) || is_never_forwarded_ipv6(hdr.ipv6.dst_addr)) {
                drop(DROP_ADDRESS);
                return;
            }
            from_backend.apply(hdr, meta);
            bool has_route;
            if (hdr.ipv4.isValid()) {
                has_route = routes_ipv4.apply().hit;
            } else {
                has_route = routes_ipv6.apply().hit;
            }
            if (!has_route) {
                drop(DROP_NO_ROUTE);
                return;
            }
        }

        bool is_used_up;
        if (hdr.ipv4.isValid()) {
            is_used_up = hdr.ipv4.ttl <= 1;
            hdr.ipv4.hdr_checksum = checksum_update(hdr.ipv4.hdr_checksum,
                checksum_replace(hdr.ipv4.ttl ++ hdr.ipv4.protocol, (hdr.ipv4.ttl - 1) ++ hdr.ipv4.protocol));
            hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        } else {
            is_used_up = hdr.ipv6.hop_limit <= 1;
            hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;
        }
        if (is_used_up) {
            drop(DROP_TTL);
        } else if (!next_hops.apply().hit) {
            drop(DROP_NO_ROUTE);
        } else if (meta.ip_bytes > meta.mtu) {
            drop(DROP_TOO_LONG);
        }
    }
}

control LbEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {}
}

control LbComputeChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.tunnel_ipv4.isValid(),
            { hdr.tunnel_ipv4.version, hdr.tunnel_ipv4.ihl, hdr.tunnel_ipv4.dscp, hdr.tunnel_ipv4.ecn,
              hdr.tunnel_ipv4.total_len, hdr.tunnel_ipv4.identification, hdr.tunnel_ipv4.reserved,
              hdr.tunnel_ipv4.dont_fragment, hdr.tunnel_ipv4.more_fragments, hdr.tunnel_ipv4.frag_offset,
              hdr.tunnel_ipv4.ttl, hdr.tunnel_ipv4.protocol, hdr.tunnel_ipv4.src_addr, hdr.tunnel_ipv4.dst_addr },
            hdr.tunnel_ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control LbDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.arp);
        packet.emit(hdr.tunnel_ipv4);
        packet.emit(hdr.tunnel_ipv6);
        packet.emit(hdr.tunnel_udp);
        packet.emit(hdr.gue);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ipv4_options);
        packet.emit(hdr.ipv6);
        packet.emit(hdr.tcp);
        packet.emit(hdr.udp);
        packet.emit(hdr.icmp);
        packet.emit(hdr.icmpv6);
        packet.emit(hdr.neighbour);
        packet.emit(hdr.icmpv6_rest);
        packet.emit(hdr.inner_ipv4);
        packet.emit(hdr.inner_options);
        packet.emit(hdr.inner_ipv6);
        packet.emit(hdr.inner_transport);
    }
}

V1Switch(LbParser(), LbVerifyChecksum(), LbIngress(), LbEgress(), LbComputeChecksum(), LbDeparser()) main;
