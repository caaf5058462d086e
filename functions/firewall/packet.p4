// Headers and metadata of firewall.p4, and its parser.

#ifndef FIREWALL_PACKET_P4
#define FIREWALL_PACKET_P4

#include "../lib/headers.p4"
#include "../lib/checksum.p4"
#include "../lib/valid.p4"
#include "../lib/icmp_error.p4"
#include "../lib/local.p4"

// Greatest number of connections of each version of IP.
#ifndef CONNECTIONS
#define CONNECTIONS 1048576
#endif
// Places for the states of connections: a power of two.
#ifndef PLACES
#define PLACES 2097152
#endif

// Seconds that an entry stays without a packet. TCP_ESTABLISHED_SECONDS and UDP_SECONDS are not below the bounds of RFC 5382 REQ-5 (2 hours 4
// minutes) and RFC 4787 REQ-5 (2 minutes).
#ifndef TCP_OPENING_SECONDS
#define TCP_OPENING_SECONDS 60
#endif
#ifndef TCP_ESTABLISHED_SECONDS
#define TCP_ESTABLISHED_SECONDS 7440
#endif
#ifndef TCP_CLOSING_SECONDS
#define TCP_CLOSING_SECONDS 60
#endif
#ifndef UDP_OPENING_SECONDS
#define UDP_OPENING_SECONDS 30
#endif
#ifndef UDP_SECONDS
#define UDP_SECONDS 180
#endif
#ifndef ICMP_SECONDS
#define ICMP_SECONDS 30
#endif
#ifndef OTHER_SECONDS
#define OTHER_SECONDS 600
#endif
#ifndef FRAGMENT_SECONDS
#define FRAGMENT_SECONDS 30
#endif

#define EXPIRY                                                                                                                  \
    @expire_seconds(TCP_OPENING_SECONDS, TCP_ESTABLISHED_SECONDS, TCP_CLOSING_SECONDS, UDP_OPENING_SECONDS, UDP_SECONDS,        \
                    ICMP_SECONDS, OTHER_SECONDS, FRAGMENT_SECONDS)
const bit<8> EXPIRY_TCP_OPENING = 0;
const bit<8> EXPIRY_TCP_ESTABLISHED = 1;
const bit<8> EXPIRY_TCP_CLOSING = 2;
const bit<8> EXPIRY_UDP_OPENING = 3;
const bit<8> EXPIRY_UDP = 4;
const bit<8> EXPIRY_ICMP = 5;
const bit<8> EXPIRY_OTHER = 6;
const bit<8> EXPIRY_FRAGMENT = 7;
const bit<8> EXPIRY_AS_IT_IS = 0xff;

// Indices of the counter drops.
const bit<8> DROP_MALFORMED = 0;
const bit<8> DROP_NOT_IP = 1;
const bit<8> DROP_NO_INTERFACE = 2;
const bit<8> DROP_NO_ROUTE = 3;
const bit<8> DROP_HOP_LIMIT = 4;
const bit<8> DROP_TOO_LONG = 5;
// To the firewall itself.
const bit<8> DROP_OWN_ADDRESS = 6;
// Flags that no TCP sends.
const bit<8> DROP_TCP_FLAGS = 7;
// A segment that does not suit the state of its connection.
const bit<8> DROP_TCP_STATE = 8;
// No connection, and not the first packet of one.
const bit<8> DROP_NO_CONNECTION = 9;
const bit<8> DROP_UNRELATED_ERROR = 10;
// From a source that is not behind the interface.
const bit<8> DROP_SPOOFED = 11;
const bit<8> DROP_POLICY = 12;
const bit<8> DROP_REJECTED = 13;
// More new connections than the limiter of a rule allows.
const bit<8> DROP_LIMITED = 14;
// More traffic than the policer of a rule allows.
const bit<8> DROP_POLICED = 15;
const bit<8> DROP_FRAGMENT = 16;
// From or to an address that no router forwards.
const bit<8> DROP_ADDRESS = 17;
// The ports cannot be found: more than four IPv6 extension headers, one of more than 256 bytes, or a routing header of type 0.
const bit<8> DROP_EXTENSIONS = 18;
const bit<32> DROPS = 19;
const bit<8> DROP_NONE = 0xff;

const bit<3> KIND_OTHER = 0;
const bit<3> KIND_TRANSPORT = 1;
// ICMP queries and their replies.
const bit<3> KIND_REQUEST = 2;
const bit<3> KIND_REPLY = 3;
const bit<3> KIND_ERROR = 4;
const bit<3> KIND_LATER_FRAGMENT = 5;
// ICMP that belongs to no connection.
const bit<3> KIND_OTHER_ICMP = 6;

// Metadata that a resubmitted packet keeps.
#define AGAIN 1

error {
    // RFC 5095: routes by way of hosts that the sender chooses.
    RoutingType0
}

struct headers_t {
    ethernet_t ethernet;
    arp_t arp;
    // An ICMP error of the firewall itself.
    ipv4_t error_ipv4;
    icmp_t error_icmp;
    ipv4_t ipv4;
    ipv4_options_t ipv4_options;
    transport_start_t quoted;
    ipv6_t ipv6;
    ipv6_extension_t[4] extensions;
    tcp_t tcp;
    udp_t udp;
    icmp_t icmp;
    icmpv6_t icmpv6;
    neighbour_t neighbour;
    int_word_t icmpv6_rest;
    // The packet that an ICMP error quotes.
    ipv4_t inner_ipv4;
    ipv6_t inner_ipv6;
    transport_start_t inner_transport;
}

struct metadata_t {
    // The packet has been resubmitted. The parser alone writes it, so that it is known to be 0 in specialised code.
    bit<1> is_again;
    bit<3> kind;
    // The connection of the packet; for an ICMP error, that of the quoted packet, in the direction in which it was sent.
    bit<8> protocol;
    bit<16> src_port;
    bit<16> dst_port;
    bit<16> ip_bytes;
    bit<16> extension_bytes;
    // Zones that the packet comes from and goes to.
    bit<8> from_zone;
    bit<8> to_zone;
    bit<9> egress_port;
    bit<1> is_to_self;
    bit<8> dropped;
    @field_list(AGAIN)
    bit<1> is_rejected;
    @field_list(AGAIN)
    ipv4_address_t own_addr;
}

parser FirewallParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                      inout standard_metadata_t standard_metadata) {
    state start {
        meta.is_again = standard_metadata.instance_type == INSTANCE_RESUBMITTED ? 1w1 : 1w0;
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
        meta.protocol = hdr.ipv4.protocol;
        meta.ip_bytes = hdr.ipv4.total_len;
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
        transition select(hdr.ipv4.frag_offset, hdr.ipv4.protocol) {
            (0, IP_PROTOCOL_TCP): parse_tcp;
            (0, IP_PROTOCOL_UDP): parse_udp;
            (0, IP_PROTOCOL_ICMP): parse_icmp;
            (0, _): accept;
            default: later_fragment;
        }
    }

    state later_fragment {
        meta.kind = KIND_LATER_FRAGMENT;
        transition accept;
    }

    state parse_ipv6 {
        packet.extract(hdr.ipv6);
        verify(hdr.ipv6.version == 6, error.ParserInvalidArgument);
        meta.protocol = hdr.ipv6.next_header;
        meta.ip_bytes = hdr.ipv6.payload_len + IPV6_BYTES;
        transition select(hdr.ipv6.next_header) {
            IP_PROTOCOL_TCP: parse_tcp;
            IP_PROTOCOL_UDP: parse_udp;
            IP_PROTOCOL_ICMPV6: parse_icmpv6;
            IP_PROTOCOL_FRAGMENT: later_fragment;
            default: other_protocol;
        }
    }

    state other_protocol {
        bool is_extension = meta.protocol == IP_PROTOCOL_HOP_BY_HOP || meta.protocol == IP_PROTOCOL_ROUTING
            || meta.protocol == IP_PROTOCOL_DESTINATION;
        transition select(is_extension) {
            true: parse_extension;
            false: accept;
        }
    }

    state parse_extension {
        // Next header, length in units of eight bytes after the first, and the type of a routing header.
        bit<24> start = packet.lookahead<bit<24>>();
        verify(meta.protocol != IP_PROTOCOL_ROUTING || start[7:0] != 0, error.RoutingType0);
        packet.extract(hdr.extensions.next, ((bit<32>) start[15:8] << 6) + 48);
        meta.protocol = hdr.extensions.last.next_header;
        meta.extension_bytes = meta.extension_bytes + ((bit<16>) start[15:8] << 3) + 8;
        transition select(hdr.extensions.last.next_header) {
            IP_PROTOCOL_TCP: parse_tcp;
            IP_PROTOCOL_UDP: parse_udp;
            IP_PROTOCOL_ICMPV6: parse_icmpv6;
            IP_PROTOCOL_FRAGMENT: later_fragment;
            default: other_protocol;
        }
    }

    state parse_tcp {
        packet.extract(hdr.tcp);
        meta.kind = KIND_TRANSPORT;
        meta.src_port = hdr.tcp.src_port;
        meta.dst_port = hdr.tcp.dst_port;
        transition accept;
    }

    state parse_udp {
        packet.extract(hdr.udp);
        meta.kind = KIND_TRANSPORT;
        meta.src_port = hdr.udp.src_port;
        meta.dst_port = hdr.udp.dst_port;
        transition accept;
    }

    state parse_icmp {
        packet.extract(hdr.icmp);
        meta.src_port = hdr.icmp.rest[31:16];
        meta.dst_port = hdr.icmp.rest[31:16];
        bool is_error = hdr.icmp.type == ICMP_UNREACHABLE || hdr.icmp.type == ICMP_TIME_EXCEEDED
            || hdr.icmp.type == ICMP_PARAMETER_PROBLEM;
        meta.kind = hdr.icmp.type == ICMP_ECHO_REQUEST || hdr.icmp.type == ICMP_TIMESTAMP ? KIND_REQUEST
            : (hdr.icmp.type == ICMP_ECHO_REPLY || hdr.icmp.type == ICMP_TIMESTAMP_REPLY ? KIND_REPLY : KIND_OTHER_ICMP);
        transition select(is_error) {
            false: accept;
            true: parse_inner_ipv4;
        }
    }

    // An error that quotes a later fragment, or a header with options, belongs to no connection.
    state parse_inner_ipv4 {
        packet.extract(hdr.inner_ipv4);
        transition select(hdr.inner_ipv4.version, hdr.inner_ipv4.ihl, hdr.inner_ipv4.frag_offset) {
            (4, 5, 0): parse_inner_of_ipv4;
            default: accept;
        }
    }

    state parse_inner_of_ipv4 {
        packet.extract(hdr.inner_transport);
        meta.kind = KIND_ERROR;
        meta.protocol = hdr.inner_ipv4.protocol;
        bool is_query = hdr.inner_ipv4.protocol == IP_PROTOCOL_ICMP;
        bool has_ports = hdr.inner_ipv4.protocol == IP_PROTOCOL_TCP || hdr.inner_ipv4.protocol == IP_PROTOCOL_UDP;
        meta.src_port = is_query ? hdr.inner_transport.third : (has_ports ? hdr.inner_transport.first : 16w0);
        meta.dst_port = is_query ? hdr.inner_transport.third : (has_ports ? hdr.inner_transport.second : 16w0);
        transition accept;
    }

    state parse_icmpv6 {
        packet.extract(hdr.icmpv6);
        meta.kind = KIND_OTHER_ICMP;
        transition select(hdr.icmpv6.type) {
            ICMPV6_NEIGHBOUR_SOLICITATION: parse_neighbour;
            ICMPV6_ECHO_REQUEST .. ICMPV6_ECHO_REPLY: parse_echo_ipv6;
            ICMPV6_UNREACHABLE .. ICMPV6_PARAMETER_PROBLEM: parse_inner_ipv6;
            default: accept;
        }
    }

    state parse_neighbour {
        transition select(hdr.ipv6.payload_len, meta.extension_bytes) {
            (32, 0): parse_whole_neighbour;
            default: accept;
        }
    }

    state parse_whole_neighbour {
        packet.extract(hdr.neighbour);
        transition accept;
    }

    state parse_echo_ipv6 {
        packet.extract(hdr.icmpv6_rest);
        meta.kind = hdr.icmpv6.type == ICMPV6_ECHO_REQUEST ? KIND_REQUEST : KIND_REPLY;
        meta.src_port = hdr.icmpv6_rest.value[31:16];
        meta.dst_port = hdr.icmpv6_rest.value[31:16];
        transition accept;
    }

    state parse_inner_ipv6 {
        packet.extract(hdr.icmpv6_rest);
        packet.extract(hdr.inner_ipv6);
        packet.extract(hdr.inner_transport);
        meta.kind = KIND_ERROR;
        meta.protocol = hdr.inner_ipv6.next_header;
        bool is_query = hdr.inner_ipv6.next_header == IP_PROTOCOL_ICMPV6;
        bool has_ports = hdr.inner_ipv6.next_header == IP_PROTOCOL_TCP || hdr.inner_ipv6.next_header == IP_PROTOCOL_UDP;
        meta.src_port = is_query ? hdr.inner_transport.third : (has_ports ? hdr.inner_transport.first : 16w0);
        meta.dst_port = is_query ? hdr.inner_transport.third : (has_ports ? hdr.inner_transport.second : 16w0);
        transition accept;
    }
}

#endif
