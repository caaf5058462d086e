// Rewrites a packet for its way to the back end, and the packets of back ends that are behind NAT.

#ifndef LOAD_BALANCER_REWRITE_P4
#define LOAD_BALANCER_REWRITE_P4

#include "packet.p4"

// Updates the checksum of the transport header: those of TCP, UDP and ICMPv6 cover the addresses, that of ICMP does not. `content`: what ports, or
// the packet that an ICMP error quotes, add.
control UpdateTransport(inout headers_t hdr, in bit<32> addresses, in bit<32> content) {
    apply {
        if (hdr.tcp.isValid()) {
            hdr.tcp.checksum = checksum_update(hdr.tcp.checksum, addresses + content);
        } else if (hdr.udp.isValid()) {
            hdr.udp.checksum = udp_checksum_update(hdr.udp.checksum, addresses + content);
        } else if (hdr.icmpv6.isValid()) {
            hdr.icmpv6.checksum = checksum_update(hdr.icmpv6.checksum, addresses + content);
        } else if (hdr.icmp.isValid()) {
            hdr.icmp.checksum = checksum_update(hdr.icmp.checksum, content);
        }
    }
}

// Updates the checksums in the packet that an ICMP error quotes, whose address and port change: those of IPv4's header and of UDP. TCP's is not among
// the eight bytes of which an error has at least. `content`: what the quoted packet then adds to the checksum of the error.
control UpdateQuoted(inout headers_t hdr, in bit<8> protocol, in bit<32> addresses, in bit<32> ports, out bit<32> content) {
    apply {
        content = addresses + ports;
        if (hdr.inner_ipv4.isValid()) {
            bit<16> checksum = checksum_update(hdr.inner_ipv4.hdr_checksum, addresses);
            content = content + checksum_replace(hdr.inner_ipv4.hdr_checksum, checksum);
            hdr.inner_ipv4.hdr_checksum = checksum;
        }
        if (protocol == IP_PROTOCOL_UDP) {
            bit<16> checksum = udp_checksum_update(hdr.inner_transport.fourth, addresses + ports);
            content = content + checksum_replace(hdr.inner_transport.fourth, checksum);
            hdr.inner_transport.fourth = checksum;
        }
    }
}

control ToBackend(inout headers_t hdr, inout metadata_t meta, out bool found) {
    UpdateTransport() update_transport;
    UpdateQuoted() update_quoted;

    direct_counter(CounterType.packets_and_bytes) usage;

    bool is_nat = false;
    bool is_tunnelled = false;
    ipv6_address_t nat_address = 0;
    bit<16> nat_port = 0;
    bit<8> inner_protocol = 0;

    action tunnel_from_ipv4(ipv4_address_t src_addr, ipv4_address_t dst_addr) {
        is_tunnelled = true;
        hdr.tunnel_ipv4.setValid();
        hdr.tunnel_ipv4.src_addr = src_addr;
        hdr.tunnel_ipv4.dst_addr = dst_addr;
    }

    action tunnel_from_ipv6(ipv6_address_t src_addr, ipv6_address_t dst_addr) {
        is_tunnelled = true;
        hdr.tunnel_ipv6.setValid();
        hdr.tunnel_ipv6.src_addr = src_addr;
        hdr.tunnel_ipv6.dst_addr = dst_addr;
    }

    action add_gue() {
        hdr.tunnel_udp.setValid();
        hdr.gue.setValid();
    }

    // Direct return: the back end has the address of the service, and answers the client itself.
    action ipip_ipv4(bit<32> next_hop, ipv4_address_t src_addr, ipv4_address_t dst_addr) {
        meta.next_hop = next_hop;
        tunnel_from_ipv4(src_addr, dst_addr);
    }

    action ipip_ipv6(bit<32> next_hop, ipv6_address_t src_addr, ipv6_address_t dst_addr) {
        meta.next_hop = next_hop;
        tunnel_from_ipv6(src_addr, dst_addr);
    }

    action gue_ipv4(bit<32> next_hop, ipv4_address_t src_addr, ipv4_address_t dst_addr) {
        meta.next_hop = next_hop;
        tunnel_from_ipv4(src_addr, dst_addr);
        add_gue();
    }

    action gue_ipv6(bit<32> next_hop, ipv6_address_t src_addr, ipv6_address_t dst_addr) {
        meta.next_hop = next_hop;
        tunnel_from_ipv6(src_addr, dst_addr);
        add_gue();
    }

    // On the same link: the next hop is the back end itself.
    action by_mac(bit<32> next_hop) {
        meta.next_hop = next_hop;
    }

    // NAT: the answers come back through the load balancer (tables `returns_*`). IPv4 addresses are IPv4-mapped ones.
    action nat(bit<32> next_hop, ipv6_address_t dst_addr, bit<16> port) {
        meta.next_hop = next_hop;
        is_nat = true;
        nat_address = dst_addr;
        nat_port = port;
    }

    table backends {
        key = {
            meta.backend: exact;
        }
        actions = {
            ipip_ipv4;
            ipip_ipv6;
            gue_ipv4;
            gue_ipv6;
            by_mac;
            nat;
            NoAction;
        }
        default_action = NoAction();
        counters = usage;
        size = BACKENDS;
    }

    apply {
        found = backends.apply().hit;
        if (is_tunnelled) {
            bit<16> bytes = meta.ip_bytes;
            inner_protocol = hdr.ipv4.isValid() ? IP_PROTOCOL_IPV4 : IP_PROTOCOL_IPV6;
            bit<8> protocol = inner_protocol;
            bit<6> dscp = hdr.ipv4.isValid() ? hdr.ipv4.dscp : hdr.ipv6.dscp;
            bit<2> ecn = hdr.ipv4.isValid() ? hdr.ipv4.ecn : hdr.ipv6.ecn;
            if (hdr.gue.isValid()) {
                hdr.gue.variant = 0;
                hdr.gue.control_ = 0;
                hdr.gue.hlen = 0;
                hdr.gue.proto_ctype = inner_protocol;
                hdr.gue.flags = 0;
                bytes = bytes + GUE_BYTES + UDP_BYTES;
                protocol = IP_PROTOCOL_UDP;
                // Entropy of the flow, in the range of RFC 6335's dynamic ports.
                if (hdr.ipv4.isValid()) {
                    hash(hdr.tunnel_udp.src_port, HashAlgorithm.crc16, 16w0xc000,
                         { hdr.ipv4.src_addr, meta.client_port, meta.service_port }, 16w0x4000);
                } else {
                    hash(hdr.tunnel_udp.src_port, HashAlgorithm.crc16, 16w0xc000,
                         { hdr.ipv6.src_addr, meta.client_port, meta.service_port }, 16w0x4000);
                }
                hdr.tunnel_udp.dst_port = GUE_PORT;
                hdr.tunnel_udp.length_ = bytes;
                hdr.tunnel_udp.checksum = 0;
            }
            if (hdr.tunnel_ipv4.isValid()) {
                bytes = bytes + IPV4_BYTES;
                hdr.ethernet.ether_type = ETHERTYPE_IPV4;
                hdr.tunnel_ipv4.version = 4;
                hdr.tunnel_ipv4.ihl = 5;
                hdr.tunnel_ipv4.dscp = dscp;
                hdr.tunnel_ipv4.ecn = ecn;
                hdr.tunnel_ipv4.total_len = bytes;
                hdr.tunnel_ipv4.identification = 0;
                hdr.tunnel_ipv4.reserved = 0;
                hdr.tunnel_ipv4.dont_fragment = 1;
                hdr.tunnel_ipv4.more_fragments = 0;
                hdr.tunnel_ipv4.frag_offset = 0;
                hdr.tunnel_ipv4.ttl = 64;
                hdr.tunnel_ipv4.protocol = protocol;
                hdr.tunnel_ipv4.hdr_checksum = 0;
            } else {
                hdr.ethernet.ether_type = ETHERTYPE_IPV6;
                hdr.tunnel_ipv6.version = 6;
                hdr.tunnel_ipv6.dscp = dscp;
                hdr.tunnel_ipv6.ecn = ecn;
                hdr.tunnel_ipv6.flow_label = 0;
                hdr.tunnel_ipv6.payload_len = bytes;
                hdr.tunnel_ipv6.next_header = protocol;
                hdr.tunnel_ipv6.hop_limit = 64;
                bytes = bytes + IPV6_BYTES;
            }
            meta.ip_bytes = bytes;
        } else if (is_nat) {
            bit<32> addresses = 0;
            bit<32> quoted_addresses = 0;
            bit<32> ports = checksum_replace(meta.service_port, nat_port);
            bit<32> content = ports;
            if (hdr.ipv4.isValid()) {
                addresses = checksum_replace32(hdr.ipv4.dst_addr, nat_address[31:0]);
                hdr.ipv4.dst_addr = nat_address[31:0];
                hdr.ipv4.hdr_checksum = checksum_update(hdr.ipv4.hdr_checksum, addresses);
                if (meta.is_error == 1) {
                    quoted_addresses = checksum_replace32(hdr.inner_ipv4.src_addr, nat_address[31:0]);
                    hdr.inner_ipv4.src_addr = nat_address[31:0];
                }
            } else {
                addresses = checksum_words128(~hdr.ipv6.dst_addr) + checksum_words128(nat_address);
                hdr.ipv6.dst_addr = nat_address;
                if (meta.is_error == 1) {
                    quoted_addresses = checksum_words128(~hdr.inner_ipv6.src_addr) + checksum_words128(nat_address);
                    hdr.inner_ipv6.src_addr = nat_address;
                }
            }
            if (meta.is_error == 1) {
                update_quoted.apply(hdr, meta.protocol, quoted_addresses, ports, content);
                hdr.inner_transport.first = nat_port;
            }
            update_transport.apply(hdr, addresses, content);
            if (hdr.tcp.isValid()) {
                hdr.tcp.dst_port = nat_port;
            } else if (hdr.udp.isValid()) {
                hdr.udp.dst_port = nat_port;
            }
        }
    }
}

// Whether the packet can be one of a connection: it has ports, or is an ICMP error to the sender of the packet that it quotes.
bool can_be_returned(in headers_t hdr, in bit<1> is_error) {
    return hdr.tcp.isValid() || hdr.udp.isValid()
        || is_error == 1 && (hdr.ipv4.isValid() ? hdr.inner_ipv4.src_addr == hdr.ipv4.dst_addr
                                                : hdr.inner_ipv6.src_addr == hdr.ipv6.dst_addr);
}

// A packet of a back end behind NAT gets the address and port of its service. So does an ICMP error about a packet of a client, from the back end or
// from a router before it: the client has sent that packet to the service, and the addresses behind the load balancer may not be known to it.
control FromBackend(inout headers_t hdr, inout metadata_t meta) {
    UpdateTransport() update_transport;
    UpdateQuoted() update_quoted;

    bool is_return = false;
    ipv6_address_t service_address = 0;
    bit<16> port = 0;
    // The back end: the source of the packet, or the destination of the one that an ICMP error quotes.
    ipv4_address_t backend_ipv4 = 0;
    ipv6_address_t backend_ipv6 = 0;

    action set_source(ipv6_address_t src_addr, bit<16> src_port) {
        is_return = true;
        service_address = src_addr;
        port = src_port;
    }

    // `meta.client_port` is the port of the back end.
    table returns_ipv4 {
        key = {
            backend_ipv4: exact @name("hdr.ipv4.src_addr");
            meta.protocol: exact;
            meta.client_port: exact @name("source_port");
        }
        actions = {
            set_source;
            NoAction;
        }
        default_action = NoAction();
        size = 65536;
    }

    table returns_ipv6 {
        key = {
            backend_ipv6: exact @name("hdr.ipv6.src_addr");
            meta.protocol: exact;
            meta.client_port: exact @name("source_port");
        }
        actions = {
            set_source;
            NoAction;
        }
        default_action = NoAction();
        size = 65536;
    }

    apply {
        if (can_be_returned(hdr, meta.is_error)) {
            if (hdr.ipv4.isValid()) {
                backend_ipv4 = meta.is_error == 1 ? hdr.inner_ipv4.dst_addr : hdr.ipv4.src_addr;
                returns_ipv4.apply();
            } else {
                backend_ipv6 = meta.is_error == 1 ? hdr.inner_ipv6.dst_addr : hdr.ipv6.src_addr;
                returns_ipv6.apply();
            }
        }
        if (is_return) {
            bit<32> addresses;
            bit<32> quoted_addresses = 0;
            bit<32> ports = checksum_replace(meta.client_port, port);
            bit<32> content = ports;
            if (hdr.ipv4.isValid()) {
                addresses = checksum_replace32(hdr.ipv4.src_addr, service_address[31:0]);
                hdr.ipv4.src_addr = service_address[31:0];
                hdr.ipv4.hdr_checksum = checksum_update(hdr.ipv4.hdr_checksum, addresses);
                if (meta.is_error == 1) {
                    quoted_addresses = checksum_replace32(hdr.inner_ipv4.dst_addr, service_address[31:0]);
                    hdr.inner_ipv4.dst_addr = service_address[31:0];
                }
            } else {
                addresses = checksum_words128(~hdr.ipv6.src_addr) + checksum_words128(service_address);
                hdr.ipv6.src_addr = service_address;
                if (meta.is_error == 1) {
                    quoted_addresses = checksum_words128(~hdr.inner_ipv6.dst_addr) + checksum_words128(service_address);
                    hdr.inner_ipv6.dst_addr = service_address;
                }
            }
            if (meta.is_error == 1) {
                update_quoted.apply(hdr, meta.protocol, quoted_addresses, ports, content);
                hdr.inner_transport.second = port;
            }
            update_transport.apply(hdr, addresses, content);
            if (hdr.tcp.isValid()) {
                hdr.tcp.src_port = port;
            } else if (hdr.udp.isValid()) {
                hdr.udp.src_port = port;
            }
        }
    }
}

#endif
