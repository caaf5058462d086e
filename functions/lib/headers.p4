// Headers that the network functions share. One header type for each format, with the document that defines it.
//
// A field is named as its document names it. Variable parts (IPv4 options, extension headers, INT metadata stacks) are
// `varbit`, as long as the format allows unless the comment names a smaller bound.

#ifndef FUNCTIONS_LIB_HEADERS_P4
#define FUNCTIONS_LIB_HEADERS_P4

typedef bit<48> mac_address_t;
typedef bit<32> ipv4_address_t;
typedef bit<128> ipv6_address_t;

const bit<16> ETHERTYPE_IPV4 = 0x0800;
const bit<16> ETHERTYPE_ARP = 0x0806;
const bit<16> ETHERTYPE_VLAN = 0x8100;
const bit<16> ETHERTYPE_IPV6 = 0x86dd;
const bit<16> ETHERTYPE_QINQ = 0x88a8;

const bit<8> IP_PROTOCOL_HOP_BY_HOP = 0;
const bit<8> IP_PROTOCOL_ICMP = 1;
const bit<8> IP_PROTOCOL_IPV4 = 4;
const bit<8> IP_PROTOCOL_TCP = 6;
const bit<8> IP_PROTOCOL_UDP = 17;
const bit<8> IP_PROTOCOL_IPV6 = 41;
const bit<8> IP_PROTOCOL_ROUTING = 43;
const bit<8> IP_PROTOCOL_FRAGMENT = 44;
const bit<8> IP_PROTOCOL_ICMPV6 = 58;
const bit<8> IP_PROTOCOL_DESTINATION = 60;

const bit<16> IPV4_BYTES = 20;
const bit<16> IPV6_BYTES = 40;
const bit<16> UDP_BYTES = 8;
const bit<16> ICMP_BYTES = 8;

// Values of standard_metadata.instance_type.
const bit<32> INSTANCE_NORMAL = 0;
const bit<32> INSTANCE_INGRESS_CLONE = 1;
const bit<32> INSTANCE_EGRESS_CLONE = 2;
const bit<32> INSTANCE_RECIRCULATED = 4;
const bit<32> INSTANCE_REPLICATED = 5;
const bit<32> INSTANCE_RESUBMITTED = 6;

header ethernet_t {
    mac_address_t dst_addr;
    mac_address_t src_addr;
    bit<16> ether_type;
}

// IEEE 802.1Q, without the EtherType of the tag, which is the last field of the header before it.
header vlan_t {
    bit<3> pcp;
    bit<1> dei;
    bit<12> vid;
    bit<16> ether_type;
}

const bit<16> ARP_REQUEST = 1;
const bit<16> ARP_REPLY = 2;

// RFC 826 for IPv4 over Ethernet.
header arp_t {
    bit<16> hardware_type;
    bit<16> protocol_type;
    bit<8> hardware_length;
    bit<8> protocol_length;
    bit<16> operation;
    mac_address_t sender_mac;
    ipv4_address_t sender_ip;
    mac_address_t target_mac;
    ipv4_address_t target_ip;
}

// RFC 791, with the fields of RFC 2474 and RFC 3168.
header ipv4_t {
    bit<4> version;
    bit<4> ihl;
    bit<6> dscp;
    bit<2> ecn;
    bit<16> total_len;
    bit<16> identification;
    bit<1> reserved;
    bit<1> dont_fragment;
    bit<1> more_fragments;
    bit<13> frag_offset;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> hdr_checksum;
    ipv4_address_t src_addr;
    ipv4_address_t dst_addr;
}

header ipv4_options_t {
    varbit<320> options;
}

// RFC 8200.
header ipv6_t {
    bit<4> version;
    bit<6> dscp;
    bit<2> ecn;
    bit<20> flow_label;
    bit<16> payload_len;
    bit<8> next_header;
    bit<8> hop_limit;
    ipv6_address_t src_addr;
    ipv6_address_t dst_addr;
}

// Hop-by-hop options, destination options, routing header (RFC 8200 §4.2): 8 * (length + 1) bytes, here up to 256.
header ipv6_extension_t {
    bit<8> next_header;
    bit<8> length_;
    varbit<2032> data;
}

header ipv6_fragment_t {
    bit<8> next_header;
    bit<8> reserved;
    bit<13> frag_offset;
    bit<2> reserved2;
    bit<1> more_fragments;
    bit<32> identification;
}

// RFC 9293, without options.
header tcp_t {
    bit<16> src_port;
    bit<16> dst_port;
    bit<32> seq_no;
    bit<32> ack_no;
    bit<4> data_offset;
    bit<4> reserved;
    bit<1> cwr;
    bit<1> ece;
    bit<1> urg;
    bit<1> ack;
    bit<1> psh;
    bit<1> rst;
    bit<1> syn;
    bit<1> fin;
    bit<16> window;
    bit<16> checksum;
    bit<16> urgent_pointer;
}

header tcp_options_t {
    varbit<320> options;
}

// RFC 768.
header udp_t {
    bit<16> src_port;
    bit<16> dst_port;
    bit<16> length_;
    bit<16> checksum;
}

// Types of ICMP (RFC 792).
const bit<8> ICMP_ECHO_REPLY = 0;
const bit<8> ICMP_UNREACHABLE = 3;
const bit<8> ICMP_ECHO_REQUEST = 8;
const bit<8> ICMP_TIME_EXCEEDED = 11;
const bit<8> ICMP_PARAMETER_PROBLEM = 12;
const bit<8> ICMP_TIMESTAMP = 13;
const bit<8> ICMP_TIMESTAMP_REPLY = 14;

// Types of ICMPv6 (RFC 4443 §2.1, RFC 4861 §4). Errors are those from ICMPV6_UNREACHABLE to ICMPV6_PARAMETER_PROBLEM.
const bit<8> ICMPV6_UNREACHABLE = 1;
const bit<8> ICMPV6_PARAMETER_PROBLEM = 4;
const bit<8> ICMPV6_ECHO_REQUEST = 128;
const bit<8> ICMPV6_ECHO_REPLY = 129;
const bit<8> ICMPV6_ROUTER_SOLICITATION = 133;
const bit<8> ICMPV6_NEIGHBOUR_SOLICITATION = 135;
const bit<8> ICMPV6_NEIGHBOUR_ADVERTISEMENT = 136;

// RFC 792 and RFC 4443: both have this form. `rest` is identifier and sequence number of echo messages.
header icmp_t {
    bit<8> type;
    bit<8> code;
    bit<16> checksum;
    bit<32> rest;
}

// GUE variant 0 (draft-ietf-intarea-gue-09 §3), without optional fields: `proto_ctype` is the IP protocol of the payload.
const bit<16> GUE_BYTES = 4;

header gue_t {
    bit<2> variant;
    bit<1> control_;
    bit<5> hlen;
    bit<8> proto_ctype;
    bit<16> flags;
}

// GTP-U (3GPP TS 29.281 §5.1).
const bit<16> GTPU_UDP_PORT = 2152;
const bit<8> GTPU_ECHO_REQUEST = 1;
const bit<8> GTPU_ECHO_RESPONSE = 2;
const bit<8> GTPU_ERROR_INDICATION = 26;
const bit<8> GTPU_SUPPORTED_EXTENSIONS = 31;
const bit<8> GTPU_END_MARKER = 254;
const bit<8> GTPU_G_PDU = 255;
const bit<8> GTPU_EXTENSION_PDU_SESSION = 0x85;
const bit<16> GTPU_BYTES = 8;

header gtpu_t {
    bit<3> version;
    bit<1> protocol_type;
    bit<1> spare;
    bit<1> extension_flag;
    bit<1> sequence_flag;
    bit<1> npdu_flag;
    bit<8> message_type;
    // Bytes after the first eight.
    bit<16> message_length;
    bit<32> teid;
}

// Present when one of the three flags is set.
header gtpu_optional_t {
    bit<16> sequence_number;
    bit<8> npdu_number;
    bit<8> next_extension;
}

// An extension header (TS 29.281 §5.2.1): 4 * length bytes. At most 64 bytes are parsed.
header gtpu_extension_t {
    bit<8> length_;
    varbit<496> content;
    bit<8> next_extension;
}

// PDU session container (3GPP TS 38.415 §5.5), types 0 (downlink) and 1 (uplink) in their shortest form.
header gtpu_pdu_session_t {
    bit<8> length_;
    bit<4> pdu_type;
    bit<4> spare;
    // Downlink: PPP and RQI; uplink: two spare bits.
    bit<1> ppp;
    bit<1> rqi;
    bit<6> qfi;
    bit<8> next_extension;
}

// Information elements of GTP-U (TS 29.281 §8): Recovery, TEID Data I, GTP-U Peer Address, Extension Header Type List.
const bit<8> GTPU_IE_RECOVERY = 14;
const bit<8> GTPU_IE_TEID = 16;
const bit<8> GTPU_IE_PEER_ADDRESS = 133;
const bit<8> GTPU_IE_EXTENSION_TYPES = 141;

header gtpu_ie_recovery_t {
    bit<8> type;
    bit<8> restart_counter;
}

header gtpu_ie_teid_t {
    bit<8> type;
    bit<32> teid;
}

header gtpu_ie_peer_t {
    bit<8> type;
    // 4 or 16; the address follows.
    bit<16> length_;
}

header gtpu_ie_extensions_t {
    bit<8> type;
    bit<8> length_;
    bit<8> extension;
}

header ipv4_address_header_t {
    ipv4_address_t value;
}

header ipv6_address_header_t {
    ipv6_address_t value;
}

// INT 2.1 over UDP (P4.org, In-band Network Telemetry Dataplane Specification, "INT over TCP/UDP").
const bit<4> INT_TYPE_MD = 1;
const bit<4> INT_TYPE_DESTINATION = 2;
const bit<4> INT_TYPE_MX = 3;
const bit<2> INT_NPT_UDP = 1;
const bit<2> INT_NPT_IP = 2;
const bit<4> INT_VERSION = 2;

header int_shim_t {
    bit<4> type;
    bit<2> npt;
    bit<2> reserved;
    // Words of 4 bytes after the shim header.
    bit<8> length_;
    // NPT 1: the destination port of the original packet. NPT 2: its IP protocol.
    bit<16> original;
}

// INT-MD metadata header; INT-MX has the same form with Hop ML and the remaining hop count reserved.
header int_md_t {
    bit<4> version;
    bit<1> discard;
    bit<1> hops_exceeded;
    bit<1> mtu_exceeded;
    bit<12> reserved;
    bit<5> hop_ml;
    bit<8> remaining_hops;
    bit<16> instructions;
    bit<16> domain_id;
    bit<16> ds_instructions;
    bit<16> ds_flags;
}

// The metadata of all hops so far: at most 252 words.
header int_stack_t {
    varbit<8064> metadata;
}

// Metadata of one word, and of two.
header int_word_t {
    bit<32> value;
}

header int_long_t {
    bit<64> value;
}

// Telemetry Report 2.0 (P4.org, Telemetry Report Format Specification).
header report_group_t {
    bit<4> version;
    bit<6> hw_id;
    bit<22> sequence_number;
    bit<32> node_id;
}

header report_individual_t {
    bit<4> rep_type;
    bit<4> in_type;
    // Words of 4 bytes after this first one.
    bit<8> report_length;
    bit<8> md_length;
    bit<1> dropped;
    bit<1> congested;
    bit<1> tracked;
    bit<1> intermediate;
    bit<4> reserved;
}

header report_int_t {
    bit<16> md_bits;
    bit<16> domain_id;
    bit<16> ds_md_bits;
    bit<16> ds_md_status;
}

#endif
