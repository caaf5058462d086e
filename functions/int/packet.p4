// Headers and metadata of int.p4, and its parser.

#ifndef INT_PACKET_P4
#define INT_PACKET_P4

#ifndef INT_PORT
#define INT_PORT 32766
#endif

const bit<16> INT_UDP_PORT = INT_PORT;

// Index of the field list that clones keep.
#define REPORT_FIELDS 1

// What is done with a packet that a watch list matches.
const bit<2> MODE_NONE = 0;
const bit<2> MODE_MD = 1;
const bit<2> MODE_MX = 2;
const bit<2> MODE_XD = 3;

// Drop reasons in reports.
const bit<8> DROP_NONE = 0;
const bit<8> DROP_MALFORMED = 1;
const bit<8> DROP_NO_FORWARDING = 2;
const bit<8> DROP_DENIED = 3;
const bit<8> DROP_UNTRUSTED_INT = 4;
const bit<32> DROPS = 5;

// Indices of the counter int_packets.
const bit<32> COUNT_SOURCE_MD = 0;
const bit<32> COUNT_SOURCE_MX = 1;
const bit<32> COUNT_XD = 2;
const bit<32> COUNT_TRANSIT_MD = 3;
const bit<32> COUNT_TRANSIT_MX = 4;
const bit<32> COUNT_SINK_MD = 5;
const bit<32> COUNT_SINK_MX = 6;
const bit<32> COUNT_HOPS_EXCEEDED = 7;
const bit<32> COUNT_MTU_EXCEEDED = 8;
const bit<32> COUNT_NOT_UNDERSTOOD = 9;
const bit<32> COUNT_NO_ROOM = 10;
const bit<32> COUNT_REPORTS = 11;
const bit<32> COUNT_DISCARDED = 12;
const bit<32> COUNTS = 13;

// Bytes of a report without metadata and truncated packet: Ethernet, IPv4, UDP, group, individual header, main contents.
const bit<32> REPORT_BYTES = 14 + 20 + 8 + 8 + 4 + 8;
// Shim and INT header.
const bit<16> INT_FIXED_BYTES = 16;
// Instructions for what the switch does not measure.
const bit<16> UNMEASURED = 0x0381;
// Report Length, in words, must stay below 255, which has another meaning. Main contents and own metadata take up to 10 words.
const bit<16> SNAP_BYTES_MAX = 960;

header saved_t {
    bit<8> next_protocol;
    bit<16> ip_length;
    bit<16> ip_checksum;
}

header own_words8_t {
    bit<128> first;
    bit<128> last;
}

header own_words4_t {
    bit<128> value;
}

struct headers_t {
    // A report, before the packet that it is about.
    ethernet_t report_ethernet;
    ipv4_t report_ipv4;
    udp_t report_udp;
    report_group_t report_group;
    report_individual_t report_individual;
    report_int_t report_int;
    int_word_t report_ports;
    int_word_t report_latency;
    int_word_t report_queue;
    int_long_t report_ingress_time;
    int_long_t report_egress_time;
    int_word_t report_drop;
    // The packet.
    ethernet_t ethernet;
    vlan_t[2] vlan;
    ipv4_t ipv4;
    ipv4_options_t ipv4_options;
    ipv6_t ipv6;
    udp_t udp;
    int_shim_t shim;
    int_md_t md;
    // Metadata of this hop, in headers of 8, 4, 2 and 1 words.
    own_words8_t own_8;
    own_words4_t own_4;
    int_long_t own_2;
    int_word_t own_1;
#ifndef NO_SINK
    // Metadata of the hops before.
    int_stack_t stack;
    // The same in a report of the sink. `stack` itself is never written, so it need not be copied where it stays in the packet.
    int_stack_t report_stack;
    // What the sink has removed. Never emitted.
    saved_t saved;
    udp_t saved_udp;
    int_shim_t saved_shim;
    int_md_t saved_md;
    int_stack_t saved_stack;
#endif
}

// What a clone needs to become a report.
struct report_t {
    // Number of the collector, which is also that of the clone session; 0 for no report.
    @field_list(REPORT_FIELDS) bit<8> collector;
    @field_list(REPORT_FIELDS) bit<16> instructions;
    @field_list(REPORT_FIELDS) bit<16> domain_id;
    @field_list(REPORT_FIELDS) bit<8> drop_reason;
    @field_list(REPORT_FIELDS) bit<1> congested;
    // Bytes of the packet from its Ethernet header on.
    @field_list(REPORT_FIELDS) bit<16> inner_bytes;
    @field_list(REPORT_FIELDS) bit<32> node_id;
    @field_list(REPORT_FIELDS) bit<16> ingress_port;
    @field_list(REPORT_FIELDS) bit<16> egress_port;
    @field_list(REPORT_FIELDS) bit<32> latency;
    @field_list(REPORT_FIELDS) bit<8> queue_id;
    @field_list(REPORT_FIELDS) bit<24> queue_depth;
    @field_list(REPORT_FIELDS) bit<64> ingress_time;
    @field_list(REPORT_FIELDS) bit<64> egress_time;
}

struct metadata_t {
    report_t report;
    // The packet came with INT, which this node processes.
    bit<1> has_int;
    // Of this node.
    bit<64> time_base;
    bit<8> node_collector;
    bit<24> congestion_depth;
    // What the watch list says.
    bit<2> mode;
    bit<16> instructions;
    bit<8> max_hops;
    bit<8> watch_collector;
    // Protocol and ports of the packet without INT, for watch lists and ACL; 0 where it has no ports.
    bit<8> protocol;
    bit<16> src_port;
    bit<16> dst_port;
    // Bytes before the IP header.
    bit<16> layer2_bytes;
    // Length of the IP packet, and the greatest one of the egress port.
    bit<16> ip_bytes;
    bit<16> mtu;
}

parser IntParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                 inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_VLAN: parse_vlan;
            ETHERTYPE_QINQ: parse_vlan;
            ETHERTYPE_IPV4: parse_ipv4;
            ETHERTYPE_IPV6: parse_ipv6;
            default: accept;
        }
    }

    state parse_vlan {
        packet.extract(hdr.vlan[0]);
        transition select(hdr.vlan[0].ether_type) {
            ETHERTYPE_VLAN: parse_inner_vlan;
            ETHERTYPE_IPV4: parse_ipv4;
            ETHERTYPE_IPV6: parse_ipv6;
            default: accept;
        }
    }

    state parse_inner_vlan {
        packet.extract(hdr.vlan[1]);
        transition select(hdr.vlan[1].ether_type) {
            ETHERTYPE_IPV4: parse_ipv4;
            ETHERTYPE_IPV6: parse_ipv6;
            default: accept;
        }
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
        // A fragment has no whole transport header: neither ports nor INT.
        transition select(hdr.ipv4.more_fragments, hdr.ipv4.frag_offset, hdr.ipv4.protocol) {
            (0, 0, IP_PROTOCOL_UDP): parse_udp;
            (0, 0, IP_PROTOCOL_TCP): parse_ports;
            default: accept;
        }
    }

    // Extension headers are not passed over: a packet that has some is forwarded, and has neither ports nor INT.
    state parse_ipv6 {
        packet.extract(hdr.ipv6);
        verify(hdr.ipv6.version == 6, error.ParserInvalidArgument);
        meta.ip_bytes = hdr.ipv6.payload_len + IPV6_BYTES;
        meta.protocol = hdr.ipv6.next_header;
        transition select(hdr.ipv6.next_header) {
            IP_PROTOCOL_UDP: parse_udp;
            IP_PROTOCOL_TCP: parse_ports;
            default: accept;
        }
    }

    state parse_ports {
        bit<32> ports = packet.lookahead<bit<32>>();
        meta.src_port = ports[31:16];
        meta.dst_port = ports[15:0];
        transition accept;
    }

    state parse_udp {
        packet.extract(hdr.udp);
        meta.src_port = hdr.udp.src_port;
        meta.dst_port = hdr.udp.dst_port;
        transition select(hdr.udp.dst_port) {
            INT_UDP_PORT: parse_shim;
            default: accept;
        }
    }

    state parse_shim {
        packet.extract(hdr.shim);
        packet.extract(hdr.md);
        verify(hdr.shim.length_ >= 3, error.ParserInvalidArgument);
#ifndef NO_SINK
        packet.extract(hdr.stack, ((bit<32>) hdr.shim.length_ - 3) << 5);
#endif
        // Protocol and ports become those of the packet without INT.
        transition select(hdr.shim.npt, hdr.shim.original) {
            (INT_NPT_UDP, _): original_port;
#ifndef NO_SINK
            (INT_NPT_IP, (bit<16>) IP_PROTOCOL_TCP): original_tcp;
#endif
            (INT_NPT_IP, _): original_protocol;
            default: accept;
        }
    }

    state original_port {
        meta.dst_port = hdr.shim.original;
        transition accept;
    }

    state original_protocol {
        meta.protocol = hdr.shim.original[7:0];
        meta.src_port = 0;
        meta.dst_port = 0;
        transition accept;
    }

#ifndef NO_SINK
    state original_tcp {
        meta.protocol = IP_PROTOCOL_TCP;
        transition parse_ports;
    }
#endif
}

#endif
