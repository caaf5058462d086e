// 5G user plane function: the data plane of N3, N6 and N9. See README.md.
//
// A packet from a tunnel is an uplink packet: its TEID finds the session. Any other is a downlink packet: the UE's address finds
// it. Rules say whether it goes on, how fast and where; routes and next hops say by which port.

#include <core.p4>
#include <v1model.p4>
#include "packet.p4"
#include "gtpu.p4"
#include "session.p4"
#include "route.p4"

control UpfVerifyChecksum(inout headers_t hdr, inout metadata_t meta) {
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

// Whether the lengths of IP, UDP and ICMP, or the ports that filters match, disagree with each other or with the frame.
bool has_wrong_lengths(in headers_t hdr, in metadata_t meta, in bit<32> frame_bytes) {
    bool is_ipv4 = hdr.ipv4.isValid();
    bit<32> ip_bytes = is_ipv4 ? (bit<32>) hdr.ipv4.total_len : (bit<32>) hdr.ipv6.payload_len + (bit<32>) IPV6_BYTES;
    bit<32> least = is_ipv4 ? (bit<32>) hdr.ipv4.ihl << 2 : (bit<32>) IPV6_BYTES;
    if (hdr.udp.isValid()) {
        least = least + (bit<32>) hdr.udp.length_;
    } else {
        // Those of the user's own packet: there is no tunnel.
        least = least + (bit<32>) meta.ipv6_extension_bytes + (hdr.icmp.isValid() || meta.has_ports == 1 ? 32w8 : 32w0);
    }
    return (is_ipv4 || hdr.ipv6.isValid()) && (least > ip_bytes || ip_bytes + 14 > frame_bytes)
        || hdr.udp.isValid() && hdr.udp.length_ < UDP_BYTES;
}

// The same in a tunnel (TS 29.281 §5.1): GTP-U fills its datagram, and the packet of the user is within it.
bool has_wrong_tunnel_lengths(in headers_t hdr, in metadata_t meta) {
    bool has_inner = hdr.inner_ipv4.isValid() || hdr.inner_ipv6.isValid();
    bit<16> ip_bytes = has_inner ? meta.ip_bytes : 0;
    bit<16> ports_bytes = meta.has_ports == 1 ? 16w8 : 16w0;
    return (bit<32>) hdr.gtpu.message_length + (bit<32>) (UDP_BYTES + GTPU_BYTES) != (bit<32>) hdr.udp.length_
        || (bit<32>) ip_bytes + (bit<32>) meta.extension_bytes > (bit<32>) hdr.gtpu.message_length
        || hdr.inner_ipv4.isValid() && ip_bytes < ((bit<16>) hdr.inner_ipv4.ihl << 2) + ports_bytes
        || hdr.inner_ipv6.isValid() && ip_bytes < IPV6_BYTES + meta.ipv6_extension_bytes + ports_bytes;
}

control UpfIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    Local() local;
    Sessions() sessions;
    Applications() applications;
    Rules() rules;
    Forwarding() forwarding;
    Route() route;
    DecreaseTtl() decrease_uplink_ttl;
    DecreaseTtl() decrease_downlink_ttl;
    Decapsulate() decapsulate;
    EchoResponse() echo_response;
    ErrorIndication() error_indication;
    SupportedExtensions() supported_extensions;
    Answer() answer;

    @element_names("malformed", "not IP", "not GTP-U", "message type", "extension header", "no session", "spoofed",
                   "no rule", "rule", "FAR", "gate", "rate", "TTL", "no route", "too long", "fragment of a tunnel",
                   "group of stations", "router solicitation")
    counter(DROPS, CounterType.packets_and_bytes) drops;
    // GTP-U messages that came, by type.
    counter(256, CounterType.packets) messages;
    // Index 0: answers to G-PDUs. A meter without rates does not limit.
    meter(1, MeterType.packets) answers;

    action drop(bit<32> reason) {
        drops.count(reason);
        mark_to_drop(standard_metadata);
    }

    // Sends the packet as it came to the controller, after a header that says why.
    action to_controller(bit<8> reason) {
        hdr.packet_in.setValid();
        hdr.packet_in.ingress_port = standard_metadata.ingress_port;
        hdr.packet_in.padding = 0;
        hdr.packet_in.reason = reason;
        hdr.packet_in.session = meta.session;
        hdr.packet_in.application = meta.application;
        standard_metadata.egress_spec = TO_CONTROLLER;
    }

    action send_back() {
        standard_metadata.egress_spec = standard_metadata.ingress_port;
    }

    apply {
        if (hdr.packet_out.isValid()) {
            bit<1> process = hdr.packet_out.process;
            bit<1> is_routed = hdr.packet_out.route;
            bit<9> port = hdr.packet_out.egress_port;
            hdr.packet_out.setInvalid();
            if (is_routed == 1) {
                bit<32> unroutable;
                route.apply(hdr, meta, standard_metadata.egress_spec, unroutable);
                if (unroutable != DROP_NONE) {
                    drop(unroutable);
                }
                return;
            }
            if (process == 0) {
                standard_metadata.egress_spec = port;
                return;
            }
        }
        // GTP-U to another destination is the user's own: it must be well-formed only in a tunnel of this UPF.
        bool is_before_gtpu = !hdr.udp.isValid() || hdr.udp.dst_port != GTPU_UDP_PORT;
        if (standard_metadata.parser_error != error.NoError && is_before_gtpu || standard_metadata.checksum_error == 1
            || !hdr.ethernet.isValid()) {
            drop(DROP_MALFORMED);
            return;
        }

        if (has_wrong_lengths(hdr, meta, standard_metadata.packet_length)) {
            drop(DROP_MALFORMED);
            return;
        }
        // Neighbour solicitations come to a group of stations.
        bool is_for_group = hdr.ethernet.dst_addr[40:40] == 1 && (hdr.ipv4.isValid() || hdr.ipv6.isValid());
        if (is_for_group && !hdr.neighbour.isValid()) {
            drop(DROP_GROUP);
            return;
        }
        bool is_own;
        bool answered;
        local.apply(hdr, standard_metadata.ingress_port, standard_metadata.egress_spec, is_own, answered);
        if (answered) {
            return;
        }
        if (is_for_group) {
            drop(DROP_GROUP);
            return;
        }
        if (!hdr.ipv4.isValid() && !hdr.ipv6.isValid()) {
            drop(DROP_NOT_IP);
            return;
        }

        // The answer of GTP-U that goes back, and the length of its elements; 0 for none.
        bit<8> answer_type = 0;
        bit<16> answer_bytes = 0;
        bit<2> colour = V1MODEL_METER_COLOR_GREEN;
        if (is_own) {
            if (standard_metadata.parser_error != error.NoError) {
                drop(DROP_MALFORMED);
                return;
            }
            if (meta.is_fragment == 1) {
                drop(DROP_FRAGMENT);
                return;
            }
            if (!hdr.gtpu.isValid() || hdr.gtpu.version != 1 || hdr.gtpu.protocol_type != 1) {
                drop(DROP_NOT_GTPU);
                return;
            }
            if (has_wrong_tunnel_lengths(hdr, meta)) {
                drop(DROP_MALFORMED);
                return;
            }
            messages.count((bit<32>) hdr.gtpu.message_type);
            if (hdr.gtpu.message_type == GTPU_ECHO_REQUEST) {
                echo_response.apply(hdr, answer_bytes);
                answer_type = GTPU_ECHO_RESPONSE;
            } else if (meta.has_unknown_extension == 1) {
                drops.count(DROP_EXTENSION);
                answers.execute_meter<bit<2>>(0, colour);
                supported_extensions.apply(hdr, answer_bytes);
                answer_type = GTPU_SUPPORTED_EXTENSIONS;
            } else if (hdr.gtpu.message_type == GTPU_ECHO_RESPONSE || hdr.gtpu.message_type == GTPU_ERROR_INDICATION
                || hdr.gtpu.message_type == GTPU_SUPPORTED_EXTENSIONS) {
                to_controller(REASON_GTPU);
                return;
            } else if (hdr.gtpu.message_type != GTPU_G_PDU && hdr.gtpu.message_type != GTPU_END_MARKER) {
                drop(DROP_GTPU_TYPE);
                return;
            }
            meta.is_uplink = 1;
        }
        if (answer_type == 0) {
            bool found;
            sessions.apply(hdr, meta, found);
            if (!found) {
                drops.count(DROP_NO_SESSION);
                if (meta.is_uplink == 0 || hdr.gtpu.message_type != GTPU_G_PDU) {
                    mark_to_drop(standard_metadata);
                    return;
                }
                answers.execute_meter<bit<2>>(0, colour);
                error_indication.apply(hdr, answer_bytes);
                answer_type = GTPU_ERROR_INDICATION;
            }
        }
        if (answer_type != 0) {
            if (colour == V1MODEL_METER_COLOR_RED) {
                mark_to_drop(standard_metadata);
                return;
            }
            answer.apply(hdr, answer_type, answer_bytes);
            send_back();
            return;
        }
        if (meta.is_uplink == 1 && hdr.gtpu.message_type == GTPU_END_MARKER) {
            // The old path of a handover between UPFs has ended: the controller gets the message.
            to_controller(REASON_GTPU);
            return;
        }

        bool is_ipv4;
        bool is_solicitation = false;
        if (meta.is_uplink == 1) {
            is_ipv4 = hdr.inner_ipv4.isValid();
            if (meta.to_ue == 1) {
                meta.remote_ipv4 = is_ipv4 ? hdr.inner_ipv4.src_addr : 0;
                meta.remote_ipv6 = is_ipv4 ? 0 : hdr.inner_ipv6.src_addr;
                meta.remote_port = meta.src_port;
                meta.local_port = meta.dst_port;
            } else {
                meta.remote_ipv4 = is_ipv4 ? hdr.inner_ipv4.dst_addr : 0;
                meta.remote_ipv6 = is_ipv4 ? 0 : hdr.inner_ipv6.dst_addr;
                meta.remote_port = meta.dst_port;
                meta.local_port = meta.src_port;
            }
            if (!is_ipv4 && !hdr.inner_ipv6.isValid()) {
                drop(DROP_NOT_IP);
                return;
            }
            // A router solicitation comes from a link-local address, or from none.
            is_solicitation = !is_ipv4 && meta.protocol == IP_PROTOCOL_ICMPV6 && meta.icmp_type == ICMPV6_ROUTER_SOLICITATION
                && hdr.inner_ipv6.dst_addr == ALL_ROUTERS;
            bool is_foreign_ipv4 = meta.ue_ipv4 == NO_IPV4 || meta.ue_ipv4 != 0 && hdr.inner_ipv4.src_addr != meta.ue_ipv4;
            bool is_foreign_ipv6 = meta.ue_prefix == NO_PREFIX
                || meta.ue_prefix != 0 && hdr.inner_ipv6.src_addr[127:64] != meta.ue_prefix;
            if (is_ipv4 && is_foreign_ipv4 || !is_ipv4 && is_foreign_ipv6 && !is_solicitation) {
                drop(DROP_SPOOFED);
                return;
            }
        } else {
            is_ipv4 = hdr.ipv4.isValid();
            // The parser has also parsed GTP-U of the user, and written these fields for the packet inside.
            meta.ip_bytes = is_ipv4 ? hdr.ipv4.total_len : hdr.ipv6.payload_len + IPV6_BYTES;
            meta.padding = (bit<16>) standard_metadata.packet_length - 14 - meta.ip_bytes;
            if (hdr.gtpu.isValid()) {
                meta.protocol = IP_PROTOCOL_UDP;
            }
            meta.qfi = 0;
            if (hdr.udp.isValid()) {
                meta.src_port = hdr.udp.src_port;
                meta.dst_port = hdr.udp.dst_port;
            }
            meta.remote_ipv4 = is_ipv4 ? hdr.ipv4.src_addr : 0;
            meta.remote_ipv6 = is_ipv4 ? 0 : hdr.ipv6.src_addr;
            meta.remote_port = meta.src_port;
            meta.local_port = meta.dst_port;
        }
        bit<32> reason;
        applications.apply(meta, is_ipv4);
        rules.apply(meta, reason);
        if (reason != DROP_NONE) {
            drop(reason);
            return;
        }
        bit<8> controller_reason;
        forwarding.apply(hdr, meta, reason, controller_reason);
        // The SMF or another UPF answers it, at the end of a tunnel. The data network has no use for it.
        if (is_solicitation && reason == DROP_NONE && !hdr.tunnel_gtpu.isValid()) {
            reason = DROP_SOLICITATION;
            controller_reason = 0;
        }
        if (controller_reason != 0) {
            to_controller(controller_reason);
            return;
        }
        if (reason != DROP_NONE) {
            drop(reason);
            return;
        }
        bool is_used_up = false;
        if (meta.is_uplink == 0) {
            decrease_downlink_ttl.apply(hdr.ipv4, hdr.ipv6, is_used_up);
        } else {
            decapsulate.apply(hdr);
            // Between tunnels this UPF is no router: neighbour discovery needs its hop limit of 255.
            if (!hdr.tunnel_gtpu.isValid()) {
                decrease_uplink_ttl.apply(hdr.inner_ipv4, hdr.inner_ipv6, is_used_up);
            }
        }
        if (is_used_up) {
            drop(DROP_TTL);
            return;
        }
        route.apply(hdr, meta, standard_metadata.egress_spec, reason);
        if (reason != DROP_NONE) {
            drop(reason);
        }
    }
}

control UpfEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {}
}

control UpfComputeChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum(hdr.tunnel_ipv4.isValid(),
            { hdr.tunnel_ipv4.version, hdr.tunnel_ipv4.ihl, hdr.tunnel_ipv4.dscp, hdr.tunnel_ipv4.ecn,
              hdr.tunnel_ipv4.total_len, hdr.tunnel_ipv4.identification, hdr.tunnel_ipv4.reserved,
              hdr.tunnel_ipv4.dont_fragment, hdr.tunnel_ipv4.more_fragments, hdr.tunnel_ipv4.frag_offset,
              hdr.tunnel_ipv4.ttl, hdr.tunnel_ipv4.protocol, hdr.tunnel_ipv4.src_addr, hdr.tunnel_ipv4.dst_addr },
            hdr.tunnel_ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control UpfDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.arp);
        packet.emit(hdr.tunnel_ipv4);
        packet.emit(hdr.tunnel_ipv6);
        packet.emit(hdr.tunnel_udp);
        packet.emit(hdr.tunnel_gtpu);
        packet.emit(hdr.tunnel_optional);
        packet.emit(hdr.tunnel_pdu_session);
        packet.emit(hdr.ie_recovery);
        packet.emit(hdr.ie_teid);
        packet.emit(hdr.ie_peer);
        packet.emit(hdr.ie_peer_ipv4);
        packet.emit(hdr.ie_peer_ipv6);
        packet.emit(hdr.ie_extensions);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ipv4_options);
        packet.emit(hdr.ipv6);
        packet.emit(hdr.extensions);
        packet.emit(hdr.icmpv6);
        packet.emit(hdr.neighbour);
        packet.emit(hdr.icmp);
        packet.emit(hdr.udp);
        packet.emit(hdr.gtpu);
        packet.emit(hdr.gtpu_optional);
        packet.emit(hdr.gtpu_extension);
        packet.emit(hdr.inner_ipv4);
        packet.emit(hdr.inner_options);
        packet.emit(hdr.inner_ipv6);
        packet.emit(hdr.inner_extensions);
    }
}

V1Switch(UpfParser(), UpfVerifyChecksum(), UpfIngress(), UpfEgress(), UpfComputeChecksum(), UpfDeparser()) main;
