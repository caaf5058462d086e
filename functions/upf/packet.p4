// Headers and metadata of upf.p4, and its parser.

#ifndef UPF_PACKET_P4
#define UPF_PACKET_P4

#include "../lib/headers.p4"
#include "../lib/checksum.p4"
#include "../lib/local.p4"

#ifndef CPU_PORT
#define CPU_PORT 510
#endif

// Sizes of the arrays of meters (QERs) and of counters (URRs). The N4 agent numbers them in the lower half, and uses the upper half for packets
// that come from another UPF by N9 or from the SMF.
#ifndef QERS
#define QERS 131072
#endif
#ifndef URRS
#define URRS 131072
#endif

const bit<9> TO_CONTROLLER = CPU_PORT;

// Why a packet goes to the controller.
const bit<8> REASON_BUFFER = 1;
const bit<8> REASON_NOTIFY = 2;
const bit<8> REASON_GTPU = 3;

// ff02::2 (RFC 4291 §2.7.1).
const ipv6_address_t ALL_ROUTERS = 0xff020000000000000000000000000002;

// Indices of the counter drops.
const bit<32> DROP_MALFORMED = 0;
const bit<32> DROP_NOT_IP = 1;
const bit<32> DROP_NOT_GTPU = 2;
const bit<32> DROP_GTPU_TYPE = 3;
const bit<32> DROP_EXTENSION = 4;
const bit<32> DROP_NO_SESSION = 5;
const bit<32> DROP_SPOOFED = 6;
const bit<32> DROP_NO_TERMINATION = 7;
const bit<32> DROP_TERMINATION = 8;
const bit<32> DROP_FAR = 9;
const bit<32> DROP_GATE = 10;
const bit<32> DROP_RATE = 11;
const bit<32> DROP_TTL = 12;
const bit<32> DROP_NO_ROUTE = 13;
const bit<32> DROP_TOO_LONG = 14;
const bit<32> DROP_FRAGMENT = 15;
// A frame to a group of stations (RFC 1812 §5.3.4).
const bit<32> DROP_GROUP = 16;
// A router solicitation that no rule puts into a tunnel.
const bit<32> DROP_SOLICITATION = 17;
const bit<32> DROPS = 18;
const bit<32> DROP_NONE = 0xffffffff;

@controller_header("packet_in")
header packet_in_t {
    bit<9> ingress_port;
    bit<7> padding;
    bit<8> reason;
    bit<32> session;
    bit<16> application;
}

@controller_header("packet_out")
header packet_out_t {
    // The port by which the packet leaves, unless it is to be processed like one that came in (`process`) or to be routed (`route`).
    bit<9> egress_port;
    bit<1> process;
    bit<1> route;
    bit<5> padding;
}

struct headers_t {
    packet_out_t packet_out;
    packet_in_t packet_in;
    ethernet_t ethernet;
    arp_t arp;
    // The tunnel into which this UPF puts the packet, or an answer of GTP-U.
    ipv4_t tunnel_ipv4;
    ipv6_t tunnel_ipv6;
    udp_t tunnel_udp;
    gtpu_t tunnel_gtpu;
    gtpu_optional_t tunnel_optional;
    gtpu_pdu_session_t tunnel_pdu_session;
    gtpu_ie_recovery_t ie_recovery;
    gtpu_ie_teid_t ie_teid;
    gtpu_ie_peer_t ie_peer;
    ipv4_address_header_t ie_peer_ipv4;
    ipv6_address_header_t ie_peer_ipv6;
    gtpu_ie_extensions_t ie_extensions;
    // The packet as it came.
    ipv4_t ipv4;
    ipv4_options_t ipv4_options;
    ipv6_t ipv6;
    ipv6_extension_t[4] extensions;
    // A neighbour solicitation, or an echo request.
    icmpv6_t icmpv6;
    neighbour_t neighbour;
    icmp_t icmp;
    udp_t udp;
    gtpu_t gtpu;
    gtpu_optional_t gtpu_optional;
    gtpu_extension_t[4] gtpu_extension;
    ipv4_t inner_ipv4;
    ipv4_options_t inner_options;
    ipv6_t inner_ipv6;
    ipv6_extension_t[4] inner_extensions;
}

// A UE without an address of this family: no packet may come from one.
const ipv4_address_t NO_IPV4 = 0xffffffff;
const bit<64> NO_PREFIX = 0xffffffffffffffff;

struct metadata_t {
    // The packet of the user, without tunnel: its remote end and the fields that the filters of applications match.
    ipv4_address_t remote_ipv4;
    ipv6_address_t remote_ipv6;
    bit<16> src_port;
    bit<16> dst_port;
    bit<16> remote_port;
    bit<16> local_port;
    bit<8> protocol;
    bit<8> icmp_type;
    // QFI of the PDU session container that came, and whether there was an extension header that must be understood.
    bit<6> qfi;
    bit<1> has_unknown_extension;
    bit<1> is_fragment;
    // Bytes of GTP-U after its first eight: optional fields and extension headers.
    bit<16> extension_bytes;
    // Bytes of the IPv6 extension headers that the parser has walked.
    bit<16> ipv6_extension_bytes;
    // The parser has read ports after the last IP header: TCP without a tunnel, TCP or UDP in one.
    bit<1> has_ports;
    // What the tables say.
    bit<1> is_uplink;
    bit<32> session;
    bit<32> rules;
    bit<16> application;
    ipv4_address_t ue_ipv4;
    bit<64> ue_prefix;
    bit<1> to_ue;
    bit<32> far;
    bit<32> flow_qer;
    bit<32> session_qer;
    bit<32> flow_urr;
    bit<32> session_urr;
    bit<32> third_urr;
    bit<32> fourth_urr;
    bit<4> before_qos;
    bit<6> marked_qfi;
    bit<1> reflective;
    bit<1> gate_closed;
    bit<2> colour;
    bit<16> mtu;
    bit<32> next_hop;
    bit<16> ip_bytes;
    // Bytes of a downlink frame that are not of its packet, nor of Ethernet's header.
    bit<16> padding;
}

parser UpfParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
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
        meta.ip_bytes = hdr.ipv4.total_len;
        meta.protocol = hdr.ipv4.protocol;
        transition select(hdr.ipv4.more_fragments, hdr.ipv4.frag_offset, hdr.ipv4.protocol) {
            (0, 0, IP_PROTOCOL_UDP): parse_udp;
            (0, 0, IP_PROTOCOL_TCP): parse_ports;
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
        transition select(hdr.ipv6.next_header, hdr.ipv6.payload_len) {
            (IP_PROTOCOL_UDP, _): parse_udp;
            (IP_PROTOCOL_TCP, _): parse_ports;
            (IP_PROTOCOL_ICMPV6, 8 .. 65535): parse_icmpv6;
            default: other_protocol;
        }
    }

    // A neighbour solicitation with the option that answers need has 32 bytes. Of shorter ones, and of other messages, nothing is needed.
    state parse_icmpv6 {
        transition select(packet.lookahead<bit<8>>(), hdr.ipv6.payload_len) {
            (ICMPV6_NEIGHBOUR_SOLICITATION, 32): parse_neighbour;
            (ICMPV6_ECHO_REQUEST, _): parse_echo_request_ipv6;
            default: accept;
        }
    }

    state parse_echo_request_ipv6 {
        packet.extract(hdr.icmpv6);
        transition accept;
    }

    state parse_neighbour {
        packet.extract(hdr.icmpv6);
        packet.extract(hdr.neighbour);
        transition accept;
    }

    // Filters are about what is behind extension headers: up to four, of up to 256 bytes each. GTP-U to this UPF has none.
    state other_protocol {
        bool is_extension = meta.protocol == IP_PROTOCOL_HOP_BY_HOP || meta.protocol == IP_PROTOCOL_ROUTING
            || meta.protocol == IP_PROTOCOL_DESTINATION;
        transition select(is_extension) {
            true: parse_extension_length;
            false: accept;
        }
    }

    state parse_extension_length {
        bit<16> start = packet.lookahead<bit<16>>();
        transition select(hdr.extensions[3].isValid(), start[7:0]) {
            (false, 0 .. 31): parse_ipv6_extension;
            default: accept;
        }
    }

    state parse_ipv6_extension {
        bit<16> start = packet.lookahead<bit<16>>();
        packet.extract(hdr.extensions.next, ((bit<32>) start[7:0] << 6) + 48);
        meta.protocol = hdr.extensions.last.next_header;
        meta.ipv6_extension_bytes = meta.ipv6_extension_bytes + ((bit<16>) start[7:0] << 3) + 8;
        transition select(hdr.extensions.last.next_header) {
            IP_PROTOCOL_UDP: parse_ports;
            IP_PROTOCOL_TCP: parse_ports;
            default: other_protocol;
        }
    }

    state parse_icmp {
        packet.extract(hdr.icmp);
        transition accept;
    }

    state parse_ports {
        bit<32> ports = packet.lookahead<bit<32>>();
        meta.src_port = ports[31:16];
        meta.dst_port = ports[15:0];
        meta.has_ports = 1;
        transition accept;
    }

    state parse_udp {
        packet.extract(hdr.udp);
        meta.src_port = hdr.udp.src_port;
        meta.dst_port = hdr.udp.dst_port;
        transition select(hdr.udp.dst_port) {
            GTPU_UDP_PORT: parse_gtpu;
            default: accept;
        }
    }

    state parse_gtpu {
        packet.extract(hdr.gtpu);
        transition select(hdr.gtpu.version, hdr.gtpu.protocol_type, hdr.gtpu.message_type,
                          hdr.gtpu.extension_flag ++ hdr.gtpu.sequence_flag ++ hdr.gtpu.npdu_flag) {
            (1, 1, GTPU_G_PDU, 0): parse_inner;
            (1, 1, _, 0): accept;
            (1, 1, _, _): parse_gtpu_optional;
            default: accept;
        }
    }

    state parse_gtpu_optional {
        packet.extract(hdr.gtpu_optional);
        meta.extension_bytes = 4;
        transition select(hdr.gtpu.extension_flag, hdr.gtpu_optional.next_extension, hdr.gtpu.message_type) {
            (0, _, GTPU_G_PDU): parse_inner;
            (0, _, _): accept;
            (1, 0, GTPU_G_PDU): parse_inner;
            (1, 0, _): accept;
            (1, GTPU_EXTENSION_PDU_SESSION, _): parse_pdu_session;
            // Types 10xxxxxx and 11xxxxxx must be understood by the end of the tunnel (TS 29.281 §5.2.1).
            (1, 0x80 &&& 0x80, _): unknown_extension;
            default: parse_extension;
        }
    }

    state unknown_extension {
        meta.has_unknown_extension = 1;
        transition parse_extension;
    }

    // The container may be longer than its first two bytes, which are all that is needed.
    state parse_pdu_session {
        meta.qfi = packet.lookahead<bit<24>>()[5:0];
        transition parse_extension;
    }

    state parse_extension {
        bit<8> words = packet.lookahead<bit<8>>();
        verify(words != 0 && words <= 16, error.ParserInvalidArgument);
        packet.extract(hdr.gtpu_extension.next, ((bit<32>) words << 5) - 16);
        meta.extension_bytes = meta.extension_bytes + ((bit<16>) words << 2);
        transition select(hdr.gtpu_extension.last.next_extension, hdr.gtpu.message_type) {
            (0, GTPU_G_PDU): parse_inner;
            (0, _): accept;
            (GTPU_EXTENSION_PDU_SESSION, _): parse_pdu_session;
            (0x80 &&& 0x80, _): unknown_extension;
            default: parse_extension;
        }
    }

    state parse_inner {
        // The ports seen so far are those of the tunnel.
        meta.src_port = 0;
        meta.dst_port = 0;
        transition select(packet.lookahead<bit<4>>()) {
            4: parse_inner_ipv4;
            6: parse_inner_ipv6;
            default: accept;
        }
    }

    state parse_inner_ipv4 {
        packet.extract(hdr.inner_ipv4);
        verify(hdr.inner_ipv4.ihl >= 5, error.ParserInvalidArgument);
        meta.ip_bytes = hdr.inner_ipv4.total_len;
        meta.protocol = hdr.inner_ipv4.protocol;
        transition select(hdr.inner_ipv4.ihl) {
            5: after_inner_ipv4;
            default: parse_inner_options;
        }
    }

    state parse_inner_options {
        packet.extract(hdr.inner_options, ((bit<32>) hdr.inner_ipv4.ihl - 5) << 5);
        transition after_inner_ipv4;
    }

    state after_inner_ipv4 {
        transition select(hdr.inner_ipv4.more_fragments, hdr.inner_ipv4.frag_offset, hdr.inner_ipv4.protocol) {
            (0, 0, IP_PROTOCOL_UDP): parse_ports;
            (0, 0, IP_PROTOCOL_TCP): parse_ports;
            default: accept;
        }
    }

    state parse_inner_ipv6 {
        packet.extract(hdr.inner_ipv6);
        meta.ip_bytes = hdr.inner_ipv6.payload_len + IPV6_BYTES;
        meta.protocol = hdr.inner_ipv6.next_header;
        transition select(hdr.inner_ipv6.next_header) {
            IP_PROTOCOL_UDP: parse_ports;
            IP_PROTOCOL_TCP: parse_ports;
            IP_PROTOCOL_ICMPV6: parse_inner_icmpv6;
            default: other_inner_protocol;
        }
    }

    state other_inner_protocol {
        bool is_extension = meta.protocol == IP_PROTOCOL_HOP_BY_HOP || meta.protocol == IP_PROTOCOL_ROUTING
            || meta.protocol == IP_PROTOCOL_DESTINATION;
        transition select(is_extension) {
            true: parse_inner_extension_length;
            false: accept;
        }
    }

    state parse_inner_extension_length {
        bit<16> start = packet.lookahead<bit<16>>();
        transition select(hdr.inner_extensions[3].isValid(), start[7:0]) {
            (false, 0 .. 31): parse_inner_ipv6_extension;
            default: accept;
        }
    }

    state parse_inner_ipv6_extension {
        bit<16> start = packet.lookahead<bit<16>>();
        packet.extract(hdr.inner_extensions.next, ((bit<32>) start[7:0] << 6) + 48);
        meta.protocol = hdr.inner_extensions.last.next_header;
        meta.ipv6_extension_bytes = meta.ipv6_extension_bytes + ((bit<16>) start[7:0] << 3) + 8;
        transition select(hdr.inner_extensions.last.next_header) {
            IP_PROTOCOL_UDP: parse_ports;
            IP_PROTOCOL_TCP: parse_ports;
            default: other_inner_protocol;
        }
    }

    state parse_inner_icmpv6 {
        meta.icmp_type = packet.lookahead<bit<8>>();
        transition accept;
    }
}

#endif
