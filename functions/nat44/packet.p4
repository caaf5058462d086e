// Headers and metadata of nat44.p4, and its parser.

#ifndef NAT44_PACKET_P4
#define NAT44_PACKET_P4

#include "../lib/headers.p4"
#include "../lib/checksum.p4"
#include "../lib/valid.p4"
#include "../lib/icmp_error.p4"
#include "../lib/local.p4"

// Greatest number of external addresses.
#ifndef ADDRESSES
#define ADDRESSES 16
#endif
// A subscriber has a block of 2^BLOCK_BITS ports of one address, for each protocol.
#ifndef BLOCK_BITS
#define BLOCK_BITS 9
#endif
// Greatest number of mappings, and of filters.
#ifndef MAPPINGS
#define MAPPINGS 2097152
#endif
#ifndef SUBSCRIBERS
#define SUBSCRIBERS 65536
#endif

// Seconds that an entry stays without a packet (RFC 4787 REQ-5, RFC 5508 REQ-2, RFC 5382 REQ-5).
#ifndef UDP_SECONDS
#define UDP_SECONDS 300
#endif
#ifndef ICMP_SECONDS
#define ICMP_SECONDS 60
#endif
#ifndef TCP_TRANSITORY_SECONDS
#define TCP_TRANSITORY_SECONDS 240
#endif
#ifndef TCP_ESTABLISHED_SECONDS
#define TCP_ESTABLISHED_SECONDS 7440
#endif
#ifndef FRAGMENT_SECONDS
#define FRAGMENT_SECONDS 30
#endif
// A subscriber keeps its block at least as long as any of its mappings.
#ifndef BLOCK_SECONDS
#define BLOCK_SECONDS 7500
#endif

// All learning tables number these times alike.
#define EXPIRY                                                                                                                  \
    @expire_seconds(UDP_SECONDS, ICMP_SECONDS, TCP_TRANSITORY_SECONDS, TCP_ESTABLISHED_SECONDS, FRAGMENT_SECONDS, BLOCK_SECONDS)
const bit<8> EXPIRY_UDP = 0;
const bit<8> EXPIRY_ICMP = 1;
const bit<8> EXPIRY_TCP_TRANSITORY = 2;
const bit<8> EXPIRY_TCP_ESTABLISHED = 3;
const bit<8> EXPIRY_FRAGMENT = 4;
const bit<8> EXPIRY_BLOCK = 5;
const bit<8> EXPIRY_AS_IT_IS = 0xff;

// Indices of the counter drops.
const bit<8> DROP_MALFORMED = 0;
const bit<8> DROP_NOT_IPV4 = 1;
const bit<8> DROP_NO_INTERFACE = 2;
const bit<8> DROP_NO_ROUTE = 3;
const bit<8> DROP_TTL = 4;
const bit<8> DROP_TOO_LONG = 5;
const bit<8> DROP_PROTOCOL = 6;
// From outside, without a mapping.
const bit<8> DROP_NO_MAPPING = 7;
// From outside, and the filter of the mapping does not let it in.
const bit<8> DROP_FILTERED = 8;
// An ICMP error that quotes a packet of no mapping.
const bit<8> DROP_UNRELATED_ERROR = 9;
// A later fragment before the first one.
const bit<8> DROP_FRAGMENT_EARLY = 10;
// The source has no pool.
const bit<8> DROP_NO_POOL = 11;
// All blocks of the pool, or all ports of the block, that were tried are taken.
const bit<8> DROP_NO_BLOCK = 12;
const bit<8> DROP_NO_PORT = 13;
const bit<8> DROP_OWN_ADDRESS = 14;
// From or to an address that no router forwards.
const bit<8> DROP_ADDRESS = 15;
const bit<32> DROPS = 16;
const bit<8> DROP_NONE = 0xff;

// Kinds of packets, by how they are translated.
const bit<3> KIND_OTHER = 0;
const bit<3> KIND_FLOW = 1;
const bit<3> KIND_REQUEST = 2;
const bit<3> KIND_REPLY = 3;
const bit<3> KIND_ERROR = 4;
const bit<3> KIND_LATER_FRAGMENT = 5;

// Where a route leads.
const bit<3> TO_NOWHERE = 0;
const bit<3> TO_OUTSIDE = 1;
const bit<3> TO_OUTSIDE_UNTRANSLATED = 2;
const bit<3> TO_INSIDE = 3;
const bit<3> TO_POOL = 4;
const bit<3> TO_SELF = 5;

// Metadata that a resubmitted packet keeps.
#define AGAIN 1

const bit<2> REALM_NONE = 0;
const bit<2> REALM_INSIDE = 1;
const bit<2> REALM_OUTSIDE = 2;

// Filtering of packets from outside (RFC 4787 §5).
const bit<2> FILTER_NONE = 0;
const bit<2> FILTER_ADDRESS = 1;
const bit<2> FILTER_ADDRESS_AND_PORT = 2;

struct headers_t {
    ethernet_t ethernet;
    arp_t arp;
    // An ICMP error of the NAT itself.
    ipv4_t error_ipv4;
    icmp_t error_icmp;
    ipv4_t ipv4;
    ipv4_options_t ipv4_options;
    transport_start_t quoted;
    tcp_t tcp;
    udp_t udp;
    icmp_t icmp;
    // The packet that an ICMP error quotes.
    ipv4_t inner_ipv4;
    ipv4_options_t inner_options;
    transport_start_t inner_transport;
}

// An endpoint: an address with a port, or with the identifier of ICMP queries.
struct endpoint_t {
    ipv4_address_t addr;
    bit<16> port;
}

struct metadata_t {
    // The packet has been resubmitted. The parser alone writes it, so that it is known to be 0 in specialised code.
    bit<1> is_again;
    bit<3> kind;
    bit<8> protocol;
    // Source and destination of the packet as it arrives, and as it leaves. For an ICMP error: destination and source of the quoted packet, which
    // went the other way.
    endpoint_t source;
    endpoint_t destination;
    endpoint_t new_source;
    endpoint_t new_destination;
    bit<1> source_changes;
    bit<1> destination_changes;
    bit<2> realm;
    // The address of the NAT where the packet has come in.
    @field_list(AGAIN)
    ipv4_address_t own_addr;
    bit<1> is_to_self;
    bit<9> egress_port;
    @field_list(AGAIN)
    bit<16> mtu;
    bit<8> dropped;
    // The ICMP error that a dropped packet gets; type 0 for none.
    @field_list(AGAIN)
    bit<8> error_type;
    @field_list(AGAIN)
    bit<8> error_code;
    // Blocks and ports that the packet has tried in vain, and whether it is to come again for another one.
    @field_list(AGAIN)
    bit<8> attempt;
    bit<1> is_trying;
}

parser NatParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        meta.is_again = standard_metadata.instance_type == INSTANCE_RESUBMITTED ? 1w1 : 1w0;
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4: parse_ipv4;
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
        meta.source.addr = hdr.ipv4.src_addr;
        meta.destination.addr = hdr.ipv4.dst_addr;
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

    state parse_tcp {
        packet.extract(hdr.tcp);
        meta.kind = KIND_FLOW;
        meta.source.port = hdr.tcp.src_port;
        meta.destination.port = hdr.tcp.dst_port;
        transition accept;
    }

    state parse_udp {
        packet.extract(hdr.udp);
        meta.kind = KIND_FLOW;
        meta.source.port = hdr.udp.src_port;
        meta.destination.port = hdr.udp.dst_port;
        transition accept;
    }

    state parse_icmp {
        packet.extract(hdr.icmp);
        meta.source.port = hdr.icmp.rest[31:16];
        meta.destination.port = hdr.icmp.rest[31:16];
        bool is_error = hdr.icmp.type == ICMP_UNREACHABLE || hdr.icmp.type == ICMP_TIME_EXCEEDED
            || hdr.icmp.type == ICMP_PARAMETER_PROBLEM;
        meta.kind = hdr.icmp.type == ICMP_ECHO_REQUEST || hdr.icmp.type == ICMP_TIMESTAMP ? KIND_REQUEST
            : (hdr.icmp.type == ICMP_ECHO_REPLY || hdr.icmp.type == ICMP_TIMESTAMP_REPLY ? KIND_REPLY : KIND_OTHER);
        transition select(is_error) {
            false: accept;
            true: parse_inner_ipv4;
        }
    }

    state parse_inner_ipv4 {
        packet.extract(hdr.inner_ipv4);
        verify(hdr.inner_ipv4.version == 4 && hdr.inner_ipv4.ihl >= 5, error.ParserInvalidArgument);
        meta.protocol = hdr.inner_ipv4.protocol;
        transition select(hdr.inner_ipv4.ihl, hdr.inner_ipv4.frag_offset) {
            (5, 0): parse_inner_transport;
            (_, 0): parse_inner_options;
            default: accept;
        }
    }

    state parse_inner_options {
        packet.extract(hdr.inner_options, ((bit<32>) hdr.inner_ipv4.ihl - 5) << 5);
        transition parse_inner_transport;
    }

    state parse_inner_transport {
        packet.extract(hdr.inner_transport);
        meta.kind = KIND_ERROR;
        meta.source.addr = hdr.inner_ipv4.dst_addr;
        meta.destination.addr = hdr.inner_ipv4.src_addr;
        bool is_query = hdr.inner_ipv4.protocol == IP_PROTOCOL_ICMP;
        meta.source.port = is_query ? hdr.inner_transport.third : hdr.inner_transport.second;
        meta.destination.port = is_query ? hdr.inner_transport.third : hdr.inner_transport.first;
        transition accept;
    }
}

#endif
