// Headers and metadata of load_balancer.p4, and its parser.

#ifndef LOAD_BALANCER_PACKET_P4
#define LOAD_BALANCER_PACKET_P4

#include "../lib/headers.p4"
#include "../lib/checksum.p4"
#include "../lib/valid.p4"
#include "../lib/icmp_error.p4"
#include "../lib/local.p4"

// Slots of a virtual service in the Maglev table: a prime, and at least a hundred times the number of the service's back ends (Eisenbud et al.,
// Maglev, NSDI 2016, §3.4).
#ifndef SLOTS
#define SLOTS 4093
#endif
// Places for connections in each half of the connection table: a connection has one place in either half.
#ifndef CONNECTIONS
#define CONNECTIONS 1048576
#endif
#ifndef BACKENDS
#define BACKENDS 4096
#endif
// The UDP port of GUE (IANA).
#ifndef GUE_PORT
#define GUE_PORT 6080
#endif

// Indices of the counter drops.
const bit<32> DROP_MALFORMED = 0;
const bit<32> DROP_NO_ROUTE = 1;
const bit<32> DROP_NO_BACKEND = 2;
const bit<32> DROP_TTL = 3;
const bit<32> DROP_TOO_LONG = 4;
const bit<32> DROP_FRAGMENT = 5;
const bit<32> DROP_NOT_IP = 6;
// From or to an address that no router forwards.
const bit<32> DROP_ADDRESS = 7;
// To an own address, for no service.
const bit<32> DROP_NO_SERVICE = 8;
// A frame to another station, or to a group (RFC 1812 §5.3.4).
const bit<32> DROP_OTHER_STATION = 9;
const bit<32> DROPS = 10;

// Indices of the counter connections.
const bit<32> CONNECTION_NEW = 0;
const bit<32> CONNECTION_KNOWN = 1;
const bit<32> CONNECTION_MOVED = 2;
const bit<32> CONNECTION_NO_PLACE = 3;
const bit<32> CONNECTION_PINNED = 4;

// Seconds that a connection stays after a SYN alone, and after a FIN or RST.
const bit<32> SECONDS_OPENING = 60;
const bit<32> SECONDS_CLOSING = 10;

struct headers_t {
    ethernet_t ethernet;
    arp_t arp;
    // The tunnel to a back end.
    ipv4_t tunnel_ipv4;
    ipv6_t tunnel_ipv6;
    udp_t tunnel_udp;
    gue_t gue;
    ipv4_t ipv4;
    ipv4_options_t ipv4_options;
    ipv6_t ipv6;
    tcp_t tcp;
    udp_t udp;
    icmp_t icmp;
    icmpv6_t icmpv6;
    neighbour_t neighbour;
    // The rest of the header of an ICMPv6 error.
    int_word_t icmpv6_rest;
    // The packet that an ICMP error quotes.
    ipv4_t inner_ipv4;
    ipv4_options_t inner_options;
    ipv6_t inner_ipv6;
    transport_start_t inner_transport;
}

struct metadata_t {
    // The connection of the packet, as client and service see it; for an ICMP error, that of the quoted packet, which went from the service to the
    // client. In a packet of a back end they have changed places.
    bit<8> protocol;
    bit<16> client_port;
    bit<16> service_port;
    bit<1> is_error;
    bit<1> is_fragment;
    bit<16> ip_bytes;
    // What the tables say.
    bit<16> service;
    bit<16> idle_seconds;
    bit<16> backend;
    bit<32> next_hop;
    bit<16> mtu;
}

parser LbParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4: parse_ipv4;
            ETHERTYPE_IPV6: parse_ipv6;
            ETHERTYPE_ARP: parse_arp;
            default: accept;
        }
    }

    state parse_arp {
        packet.extract(hdr.arp);
        transition accept;
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        verify(hdr.ipv4.version == 4 && hdr.ipv4.ihl >= 5, error.ParserInvalidArgument);
        meta.ip_bytes = hdr.ipv4.total_len;
        meta.protocol = hdr.ipv4.protocol;
        transition select(hdr.ipv4.ihl) {
            5: after_ipv4;
            default: parse_ipv4_options;
        }
    }

    state parse_ipv4_options {
        packet.extract(hdr.ipv4_options, ((bit<32>) hdr.ipv4.ihl - 5) << 5);
        transition after_ipv4;
    }

    state after_ipv4 {
        transition select(hdr.ipv4.more_fragments, hdr.ipv4.frag_offset, hdr.ipv4.protocol) {
            (0, 0, IP_PROTOCOL_TCP): parse_tcp;
            (0, 0, IP_PROTOCOL_UDP): parse_udp;
            (0, 0, IP_PROTOCOL_ICMP): parse_icmp;
            (0, 0, _): accept;
            default: fragment;
        }
    }

    state fragment {
        meta.is_fragment = 1;
        transition accept;
    }

    state parse_ipv6 {
        packet.extract(hdr.ipv6);
        verify(hdr.ipv6.version == 6, error.ParserInvalidArgument);
        meta.ip_bytes = hdr.ipv6.payload_len + IPV6_BYTES;
        meta.protocol = hdr.ipv6.next_header;
        transition select(hdr.ipv6.next_header) {
            IP_PROTOCOL_TCP: parse_tcp;
            IP_PROTOCOL_UDP: parse_udp;
            IP_PROTOCOL_ICMPV6: parse_icmpv6;
            IP_PROTOCOL_FRAGMENT: fragment;
            default: accept;
        }
    }

    state parse_tcp {
        packet.extract(hdr.tcp);
        meta.client_port = hdr.tcp.src_port;
        meta.service_port = hdr.tcp.dst_port;
        transition accept;
    }

    state parse_udp {
        packet.extract(hdr.udp);
        meta.client_port = hdr.udp.src_port;
        meta.service_port = hdr.udp.dst_port;
        transition accept;
    }

    state parse_icmp {
        packet.extract(hdr.icmp);
        bool is_error = hdr.icmp.type == ICMP_UNREACHABLE || hdr.icmp.type == ICMP_TIME_EXCEEDED
            || hdr.icmp.type == ICMP_PARAMETER_PROBLEM;
        transition select(is_error) {
            false: accept;
            true: parse_inner_ipv4;
        }
    }

    state parse_inner_ipv4 {
        packet.extract(hdr.inner_ipv4);
        meta.protocol = hdr.inner_ipv4.protocol;
        bool has_ports = hdr.inner_ipv4.frag_offset == 0
            && (hdr.inner_ipv4.protocol == IP_PROTOCOL_TCP || hdr.inner_ipv4.protocol == IP_PROTOCOL_UDP);
        transition select(has_ports, hdr.inner_ipv4.ihl) {
            (true, 5): parse_inner_transport;
            (true, 6 .. 15): parse_inner_options;
            default: accept;
        }
    }

    state parse_inner_options {
        packet.extract(hdr.inner_options, ((bit<32>) hdr.inner_ipv4.ihl - 5) << 5);
        transition parse_inner_transport;
    }

    state parse_icmpv6 {
        packet.extract(hdr.icmpv6);
        transition select(hdr.icmpv6.type) {
            ICMPV6_NEIGHBOUR_SOLICITATION: parse_neighbour;
            ICMPV6_UNREACHABLE .. ICMPV6_PARAMETER_PROBLEM: parse_inner_ipv6;
            default: accept;
        }
    }

    // A solicitation without an option is shorter: it is of duplicate address detection, and not answered.
    state parse_neighbour {
        transition select(hdr.ipv6.payload_len) {
            32: parse_whole_neighbour;
            default: accept;
        }
    }

    state parse_whole_neighbour {
        packet.extract(hdr.neighbour);
        transition accept;
    }

    state parse_inner_ipv6 {
        packet.extract(hdr.icmpv6_rest);
        packet.extract(hdr.inner_ipv6);
        meta.protocol = hdr.inner_ipv6.next_header;
        transition select(hdr.inner_ipv6.next_header) {
            IP_PROTOCOL_TCP: parse_inner_transport;
            IP_PROTOCOL_UDP: parse_inner_transport;
            default: accept;
        }
    }

    state parse_inner_transport {
        packet.extract(hdr.inner_transport);
        meta.is_error = 1;
        meta.client_port = hdr.inner_transport.second;
        meta.service_port = hdr.inner_transport.first;
        transition accept;
    }
}

#endif
