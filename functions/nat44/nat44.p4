// A NAT for IPv4 (NAPT, RFC 4787, 5382, 5508, 6888) that learns its mappings itself. See README.md.
//
//   inside ──► outbound: source becomes external ──► outside
//   inside ◄── inbound: destination becomes inside ◄── outside
//   inside ──► both ──► inside                       (hairpinning)

#include <core.p4>
#include <v1model.p4>
#include <forebay.p4>
#include "packet.p4"
#include "translate.p4"
#include "rewrite.p4"
#include "report.p4"

control NatVerifyChecksum(inout headers_t hdr, inout metadata_t meta) {
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

// Whether the lengths in the headers disagree with each other or with the frame.
bool has_wrong_lengths(in headers_t hdr, in bit<3> kind, in bit<32> frame_bytes) {
    bit<16> bytes = ipv4_payload_bytes(hdr.ipv4);
    return has_wrong_ipv4_length(hdr.ipv4, frame_bytes)
        || hdr.tcp.isValid() && has_wrong_tcp_length(hdr.tcp, bytes)
        || hdr.udp.isValid() && has_wrong_udp_length(hdr.udp, bytes, hdr.ipv4.more_fragments)
        || hdr.icmp.isValid() && bytes < ICMP_BYTES
        || kind == KIND_ERROR && bytes < ICMP_BYTES + 8 + ((bit<16>) hdr.inner_ipv4.ihl << 2);
}

control NatIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    AnswerArp() answer_arp;
    AnswerPing() answer_ping;
    Translate() translate;
    Rewrite() rewrite;
    Report() report;

    @element_names("malformed", "not IPv4", "no interface", "no route", "TTL", "too long", "protocol without ports",
                   "no mapping", "filtered", "unrelated ICMP error", "fragment before the first", "no pool",
                   "no block", "no port", "to the NAT", "not forwardable address")
    counter(DROPS, CounterType.packets) drops;

    mac_address_t own_mac = 0;

    action set_inside(mac_address_t mac, ipv4_address_t addr) {
        meta.realm = REALM_INSIDE;
        own_mac = mac;
        meta.own_addr = addr;
    }

    action set_outside(mac_address_t mac, ipv4_address_t addr) {
        meta.realm = REALM_OUTSIDE;
        own_mac = mac;
        meta.own_addr = addr;
    }

    table interfaces {
        key = {
            standard_metadata.ingress_port: exact;
        }
        actions = {
            set_inside;
            set_outside;
            NoAction;
        }
        default_action = NoAction();
        size = 512;
    }

    apply {
        if (meta.is_again == 1 && meta.error_type != 0) {
            bool is_sent;
            report.apply(hdr, meta, is_sent);
            if (is_sent) {
                standard_metadata.egress_spec = standard_metadata.ingress_port;
            } else {
                mark_to_drop(standard_metadata);
            }
            return;
        }
        meta.dropped = DROP_NONE;
        meta.egress_port = standard_metadata.ingress_port;
        if (standard_metadata.parser_error != error.NoError || standard_metadata.checksum_error == 1
            || !hdr.ethernet.isValid()) {
            meta.dropped = DROP_MALFORMED;
        } else if (hdr.arp.isValid()) {
            bool answered;
            answer_arp.apply(hdr.ethernet, hdr.arp, standard_metadata.ingress_port, answered);
            meta.dropped = answered ? DROP_NONE : DROP_NOT_IPV4;
        } else if (!hdr.ipv4.isValid()) {
            meta.dropped = DROP_NOT_IPV4;
        } else if (has_wrong_lengths(hdr, meta.kind, standard_metadata.packet_length)) {
            meta.dropped = DROP_MALFORMED;
        } else if (is_never_forwarded_ipv4(hdr.ipv4.src_addr) || is_never_forwarded_ipv4(hdr.ipv4.dst_addr)) {
            meta.dropped = DROP_ADDRESS;
        } else if (!interfaces.apply().hit || hdr.ethernet.dst_addr != own_mac) {
            meta.dropped = DROP_NO_INTERFACE;
        } else {
            translate.apply(hdr, meta, standard_metadata.ingress_global_timestamp);
            if (meta.dropped == DROP_NONE) {
                rewrite.apply(hdr, meta);
            } else if (meta.is_to_self == 1 && hdr.icmp.isValid() && hdr.icmp.type == ICMP_ECHO_REQUEST
                && hdr.ipv4.more_fragments == 0) {
                answer_ping.apply(hdr.ethernet, hdr.ipv4, hdr.icmp);
                meta.dropped = DROP_NONE;
            }
        }
        standard_metadata.egress_spec = meta.egress_port;
        if (meta.is_trying == 0 && meta.dropped != DROP_NONE) {
            drops.count((bit<32>) meta.dropped);
            mark_to_drop(standard_metadata);
        }
    }
}

control NatEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {}
}

control NatComputeChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control NatDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.arp);
        packet.emit(hdr.error_ipv4);
        packet.emit(hdr.error_icmp);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ipv4_options);
        packet.emit(hdr.quoted);
        packet.emit(hdr.tcp);
        packet.emit(hdr.udp);
        packet.emit(hdr.icmp);
        packet.emit(hdr.inner_ipv4);
        packet.emit(hdr.inner_options);
        packet.emit(hdr.inner_transport);
    }
}

V1Switch(NatParser(), NatVerifyChecksum(), NatIngress(), NatEgress(), NatComputeChecksum(), NatDeparser()) main;
