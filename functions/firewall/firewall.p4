// A stateful firewall between zones, for IPv4 and IPv6, that learns connections itself. See README.md.
//
//   zone A ──► connection known? ── yes ─► state ──► zone B
//                      └ no ─► policy, rules ─► learn

#include <core.p4>
#include <v1model.p4>
#include <forebay.p4>
#include "packet.p4"
#include "connections.p4"

control FirewallVerifyChecksum(inout headers_t hdr, inout metadata_t meta) {
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

// Turns a rejected packet into the ICMP error about it. The packet is resubmitted first, so that specialised code does not have this control.
control Reject(inout headers_t hdr, in metadata_t meta, out bool is_sent) {
    MakeIcmpError() make_icmp_error;

    // Index 0: errors that are sent. A meter without rates does not limit.
    meter(1, MeterType.packets) error_rate;

    apply {
        is_sent = false;
        bit<2> color = V1MODEL_METER_COLOR_RED;
        if (hdr.ipv4.isValid() && may_be_reported(hdr.ethernet.dst_addr, hdr.ipv4)
            && (meta.kind == KIND_TRANSPORT || meta.kind == KIND_REQUEST)) {
            error_rate.execute_meter<bit<2>>(0, color);
        }
        if (color == V1MODEL_METER_COLOR_RED) {
            return;
        }
        is_sent = true;
        hdr.quoted.setValid();
        if (hdr.tcp.isValid()) {
            hdr.quoted = { hdr.tcp.src_port, hdr.tcp.dst_port, hdr.tcp.seq_no[31:16], hdr.tcp.seq_no[15:0] };
        } else if (hdr.udp.isValid()) {
            hdr.quoted = { hdr.udp.src_port, hdr.udp.dst_port, hdr.udp.length_, hdr.udp.checksum };
        } else {
            hdr.quoted = { hdr.icmp.type ++ hdr.icmp.code, hdr.icmp.checksum, hdr.icmp.rest[31:16], hdr.icmp.rest[15:0] };
        }
        hdr.tcp.setInvalid();
        hdr.udp.setInvalid();
        hdr.icmp.setInvalid();
        make_icmp_error.apply(hdr.ethernet, hdr.error_ipv4, hdr.error_icmp, hdr.ipv4, hdr.quoted, ICMP_UNREACHABLE,
                              ICMP_PROHIBITED, 16w0, meta.own_addr);
    }
}

// Whether the lengths in the headers disagree with each other or with the frame.
bool has_wrong_lengths(in headers_t hdr, in bit<3> kind, in bit<16> extension_bytes, in bit<32> frame_bytes) {
    bit<16> bytes = hdr.ipv4.isValid() ? ipv4_payload_bytes(hdr.ipv4) : hdr.ipv6.payload_len - extension_bytes;
    return hdr.ipv4.isValid() && has_wrong_ipv4_length(hdr.ipv4, frame_bytes)
        || hdr.ipv6.isValid() && (has_wrong_ipv6_length(hdr.ipv6, frame_bytes) || extension_bytes > hdr.ipv6.payload_len)
        || hdr.tcp.isValid() && has_wrong_tcp_length(hdr.tcp, bytes)
        || hdr.udp.isValid() && has_wrong_udp_length(hdr.udp, bytes, hdr.ipv4.isValid() ? hdr.ipv4.more_fragments : 1w0)
        || hdr.icmp.isValid() && bytes < ICMP_BYTES
        || hdr.icmpv6.isValid() && bytes < (hdr.icmpv6_rest.isValid() ? ICMP_BYTES : 16w4)
        || kind == KIND_ERROR && bytes < ICMP_BYTES + 8 + (hdr.inner_ipv4.isValid() ? IPV4_BYTES : IPV6_BYTES);
}

control FirewallIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    AnswerArp() answer_arp;
    AnswerNeighbour() answer_neighbour;
    AnswerPing() answer_ping;
    AnswerPingIpv6() answer_ping_ipv6;
    Connections() connections;
    Reject() reject;

    @element_names("malformed", "not IP", "no interface", "no route", "hop limit", "too long", "to the firewall",
                   "TCP flags", "TCP state", "no connection", "unrelated ICMP error", "spoofed", "refused",
                   "rejected", "connection limit", "traffic limit", "fragment", "not forwardable address", "extension headers")
    counter(DROPS, CounterType.packets) drops;

    mac_address_t own_mac = 0;
    bit<1> answers_pings = 0;

    action set_interface(bit<8> zone, mac_address_t mac, ipv4_address_t addr, bit<1> pings) {
        meta.from_zone = zone;
        own_mac = mac;
        meta.own_addr = addr;
        answers_pings = pings;
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

    apply {
        if (meta.is_again == 1) {
            bool is_sent;
            reject.apply(hdr, meta, is_sent);
            if (is_sent) {
                standard_metadata.egress_spec = standard_metadata.ingress_port;
            } else {
                mark_to_drop(standard_metadata);
            }
            return;
        }
        meta.dropped = DROP_NONE;
        meta.egress_port = standard_metadata.ingress_port;
        bool answered = false;
        if (standard_metadata.parser_error == error.StackOutOfBounds || standard_metadata.parser_error == error.HeaderTooShort
            || standard_metadata.parser_error == error.RoutingType0) {
            meta.dropped = DROP_EXTENSIONS;
        } else if (standard_metadata.parser_error != error.NoError || standard_metadata.checksum_error == 1
            || !hdr.ethernet.isValid()) {
            meta.dropped = DROP_MALFORMED;
        } else if (hdr.arp.isValid()) {
            answer_arp.apply(hdr.ethernet, hdr.arp, standard_metadata.ingress_port, answered);
            meta.dropped = answered ? DROP_NONE : DROP_NOT_IP;
        } else if (has_wrong_lengths(hdr, meta.kind, meta.extension_bytes, standard_metadata.packet_length)) {
            meta.dropped = DROP_MALFORMED;
        } else if (hdr.neighbour.isValid()) {
            answer_neighbour.apply(hdr.ethernet, hdr.ipv6, hdr.icmpv6, hdr.neighbour, standard_metadata.ingress_port, answered);
            meta.dropped = answered ? DROP_NONE : DROP_OWN_ADDRESS;
        } else if (!hdr.ipv4.isValid() && !hdr.ipv6.isValid()) {
            meta.dropped = DROP_NOT_IP;
        } else if (!interfaces.apply().hit || hdr.ethernet.dst_addr != own_mac) {
            meta.dropped = DROP_NO_INTERFACE;
        } else {
            connections.apply(hdr, meta, standard_metadata.ingress_global_timestamp);
            bool may_answer = meta.is_to_self == 1 && answers_pings == 1;
            if (may_answer && hdr.icmp.isValid() && hdr.icmp.type == ICMP_ECHO_REQUEST && hdr.ipv4.more_fragments == 0) {
                answer_ping.apply(hdr.ethernet, hdr.ipv4, hdr.icmp);
                meta.dropped = DROP_NONE;
            } else if (may_answer && hdr.icmpv6.isValid() && hdr.icmpv6.type == ICMPV6_ECHO_REQUEST && meta.extension_bytes == 0) {
                answer_ping_ipv6.apply(hdr.ethernet, hdr.ipv6, hdr.icmpv6);
                meta.dropped = DROP_NONE;
            } else if (meta.dropped == DROP_NONE && hdr.ipv4.isValid()) {
                hdr.ipv4.hdr_checksum = checksum_update(hdr.ipv4.hdr_checksum,
                    checksum_replace(hdr.ipv4.ttl ++ hdr.ipv4.protocol, (hdr.ipv4.ttl - 1) ++ hdr.ipv4.protocol));
                hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
            } else if (meta.dropped == DROP_NONE) {
                hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;
            }
        }
        standard_metadata.egress_spec = meta.egress_port;
        if (meta.dropped != DROP_NONE) {
            drops.count((bit<32>) meta.dropped);
            mark_to_drop(standard_metadata);
        }
    }
}

control FirewallEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {}
}

control FirewallComputeChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control FirewallDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.arp);
        packet.emit(hdr.error_ipv4);
        packet.emit(hdr.error_icmp);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ipv4_options);
        packet.emit(hdr.quoted);
        packet.emit(hdr.ipv6);
        packet.emit(hdr.extensions);
        packet.emit(hdr.tcp);
        packet.emit(hdr.udp);
        packet.emit(hdr.icmp);
        packet.emit(hdr.icmpv6);
        packet.emit(hdr.neighbour);
        packet.emit(hdr.icmpv6_rest);
        packet.emit(hdr.inner_ipv4);
        packet.emit(hdr.inner_ipv6);
        packet.emit(hdr.inner_transport);
    }
}

V1Switch(FirewallParser(), FirewallVerifyChecksum(), FirewallIngress(), FirewallEgress(), FirewallComputeChecksum(),
         FirewallDeparser()) main;
