// GTP-U: encapsulation, decapsulation, and the messages that this UPF answers itself.

#ifndef UPF_GTPU_P4
#define UPF_GTPU_P4

#include "packet.p4"

// Adds outer headers. `payload_bytes` is the length of the IP packet in the tunnel; with a QFI there is a PDU session
// container. The UDP checksum is zero, over IPv6 too (RFC 6935).
control Encapsulate(inout headers_t hdr, in bit<16> payload_bytes, in bit<32> teid, in bit<6> qfi, in bit<1> reflective,
                    in bit<6> dscp, in bit<8> message_type) {
    apply {
        // The optional fields and the PDU session container.
        bit<16> extra = qfi == 0 ? 16w0 : 16w8;
        hdr.tunnel_gtpu.setValid();
        hdr.tunnel_gtpu.version = 1;
        hdr.tunnel_gtpu.protocol_type = 1;
        hdr.tunnel_gtpu.spare = 0;
        hdr.tunnel_gtpu.extension_flag = qfi == 0 ? 1w0 : 1w1;
        hdr.tunnel_gtpu.sequence_flag = 0;
        hdr.tunnel_gtpu.npdu_flag = 0;
        hdr.tunnel_gtpu.message_type = message_type;
        hdr.tunnel_gtpu.message_length = payload_bytes + extra;
        hdr.tunnel_gtpu.teid = teid;
        if (qfi != 0) {
            hdr.tunnel_optional.setValid();
            hdr.tunnel_optional.sequence_number = 0;
            hdr.tunnel_optional.npdu_number = 0;
            hdr.tunnel_optional.next_extension = GTPU_EXTENSION_PDU_SESSION;
            hdr.tunnel_pdu_session.setValid();
            hdr.tunnel_pdu_session.length_ = 1;
            hdr.tunnel_pdu_session.pdu_type = 0;
            hdr.tunnel_pdu_session.spare = 0;
            hdr.tunnel_pdu_session.ppp = 0;
            hdr.tunnel_pdu_session.rqi = reflective;
            hdr.tunnel_pdu_session.qfi = qfi;
            hdr.tunnel_pdu_session.next_extension = 0;
        }
        bit<16> udp_bytes = UDP_BYTES + GTPU_BYTES + extra + payload_bytes;
        hdr.tunnel_udp.setValid();
        hdr.tunnel_udp.dst_port = GTPU_UDP_PORT;
        hdr.tunnel_udp.length_ = udp_bytes;
        hdr.tunnel_udp.checksum = 0;
        if (hdr.tunnel_ipv4.isValid()) {
            hdr.tunnel_ipv4.version = 4;
            hdr.tunnel_ipv4.ihl = 5;
            hdr.tunnel_ipv4.dscp = dscp;
            hdr.tunnel_ipv4.ecn = 0;
            hdr.tunnel_ipv4.total_len = IPV4_BYTES + udp_bytes;
            hdr.tunnel_ipv4.identification = 0;
            hdr.tunnel_ipv4.reserved = 0;
            hdr.tunnel_ipv4.dont_fragment = 1;
            hdr.tunnel_ipv4.more_fragments = 0;
            hdr.tunnel_ipv4.frag_offset = 0;
            hdr.tunnel_ipv4.ttl = 64;
            hdr.tunnel_ipv4.protocol = IP_PROTOCOL_UDP;
            hdr.tunnel_ipv4.hdr_checksum = 0;
        } else {
            hdr.tunnel_ipv6.version = 6;
            hdr.tunnel_ipv6.dscp = dscp;
            hdr.tunnel_ipv6.ecn = 0;
            hdr.tunnel_ipv6.flow_label = 0;
            hdr.tunnel_ipv6.payload_len = udp_bytes;
            hdr.tunnel_ipv6.next_header = IP_PROTOCOL_UDP;
            hdr.tunnel_ipv6.hop_limit = 64;
        }
    }
}

// Removes the headers of the tunnel.
control Decapsulate(inout headers_t hdr) {
    apply {
        hdr.ipv4.setInvalid();
        hdr.ipv4_options.setInvalid();
        hdr.ipv6.setInvalid();
        hdr.udp.setInvalid();
        hdr.gtpu.setInvalid();
        hdr.gtpu_optional.setInvalid();
        hdr.gtpu_extension[0].setInvalid();
        hdr.gtpu_extension[1].setInvalid();
        hdr.gtpu_extension[2].setInvalid();
        hdr.gtpu_extension[3].setInvalid();
    }
}

// Turns the packet into an answer of type `message_type`, to its source port (echo) or to the port of GTP-U. The caller has added the information
// elements, `ie_bytes` bytes. Everything after the Ethernet header is removed. Applied once, for all answers.
control Answer(inout headers_t hdr, in bit<8> message_type, in bit<16> ie_bytes) {
    Decapsulate() decapsulate;
    Encapsulate() encapsulate;

    apply {
        bit<16> to_port = message_type == GTPU_ECHO_RESPONSE ? hdr.udp.src_port : GTPU_UDP_PORT;
        bit<16> sequence_number = 0;
        bit<32> outer_bytes = 14 + 40;
        if (hdr.gtpu_optional.isValid() && hdr.gtpu.sequence_flag == 1) {
            sequence_number = hdr.gtpu_optional.sequence_number;
        }
        if (hdr.ipv4.isValid()) {
            outer_bytes = 14 + 20;
            hdr.tunnel_ipv4.setValid();
            hdr.tunnel_ipv4.src_addr = hdr.ipv4.dst_addr;
            hdr.tunnel_ipv4.dst_addr = hdr.ipv4.src_addr;
        } else {
            hdr.tunnel_ipv6.setValid();
            hdr.tunnel_ipv6.src_addr = hdr.ipv6.dst_addr;
            hdr.tunnel_ipv6.dst_addr = hdr.ipv6.src_addr;
        }
        encapsulate.apply(hdr, ie_bytes + 4, 0, 0, 0, 0, message_type);
        hdr.tunnel_udp.src_port = GTPU_UDP_PORT;
        hdr.tunnel_udp.dst_port = to_port;
        hdr.tunnel_gtpu.sequence_flag = 1;
        hdr.tunnel_optional.setValid();
        hdr.tunnel_optional.sequence_number = message_type == GTPU_ECHO_RESPONSE ? sequence_number : 16w0;
        hdr.tunnel_optional.npdu_number = 0;
        hdr.tunnel_optional.next_extension = 0;
        decapsulate.apply(hdr);
        hdr.inner_ipv4.setInvalid();
        hdr.inner_options.setInvalid();
        hdr.inner_ipv6.setInvalid();
        hdr.inner_extensions[0].setInvalid();
        hdr.inner_extensions[1].setInvalid();
        hdr.inner_extensions[2].setInvalid();
        hdr.inner_extensions[3].setInvalid();
        // Over IPv6 an answer has a checksum: RFC 6935 permits zero for tunnelled packets alone.
        if (hdr.tunnel_ipv6.isValid()) {
            bit<32> sum = checksum_words128(hdr.tunnel_ipv6.src_addr) + checksum_words128(hdr.tunnel_ipv6.dst_addr)
                + (bit<32>) IP_PROTOCOL_UDP + 2 * (bit<32>) hdr.tunnel_udp.length_
                + (bit<32>) hdr.tunnel_udp.src_port + (bit<32>) hdr.tunnel_udp.dst_port
                + (bit<32>) (3w1 ++ 1w1 ++ 1w0 ++ 3w2 ++ message_type) + (bit<32>) hdr.tunnel_gtpu.message_length
                + (bit<32>) hdr.tunnel_optional.sequence_number;
            if (hdr.ie_recovery.isValid()) {
                sum = sum + (bit<32>) (hdr.ie_recovery.type ++ hdr.ie_recovery.restart_counter);
            }
            // TEID (5 bytes), peer (3), address (16): words that begin at even offsets.
            if (hdr.ie_teid.isValid()) {
                bit<64> elements = hdr.ie_teid.type ++ hdr.ie_teid.teid ++ hdr.ie_peer.type ++ hdr.ie_peer.length_;
                sum = sum + checksum_words64(elements) + checksum_words128(hdr.ie_peer_ipv6.value);
            }
            // Three bytes, the last of which stands in the upper half of its word.
            if (hdr.ie_extensions.isValid()) {
                sum = sum + (bit<32>) (hdr.ie_extensions.type ++ hdr.ie_extensions.length_)
                    + (bit<32>) (hdr.ie_extensions.extension ++ 8w0);
            }
            hdr.tunnel_udp.checksum = ~checksum_fold(sum);
            if (hdr.tunnel_udp.checksum == 0) {
                hdr.tunnel_udp.checksum = 0xffff;
            }
        }
        mac_address_t mac = hdr.ethernet.src_addr;
        hdr.ethernet.src_addr = hdr.ethernet.dst_addr;
        hdr.ethernet.dst_addr = mac;
        truncate(outer_bytes + 8 + 8 + 4 + (bit<32>) ie_bytes);
    }
}

// Adds the information elements of an Error Indication about an unknown TEID (TS 29.281 §7.3.1); `bytes` is their length.
control ErrorIndication(inout headers_t hdr, out bit<16> bytes) {
    apply {
        hdr.ie_teid.setValid();
        hdr.ie_teid.type = GTPU_IE_TEID;
        hdr.ie_teid.teid = hdr.gtpu.teid;
        hdr.ie_peer.setValid();
        hdr.ie_peer.type = GTPU_IE_PEER_ADDRESS;
        if (hdr.ipv4.isValid()) {
            hdr.ie_peer.length_ = 4;
            hdr.ie_peer_ipv4.setValid();
            hdr.ie_peer_ipv4.value = hdr.ipv4.dst_addr;
            bytes = 5 + 3 + 4;
        } else {
            hdr.ie_peer.length_ = 16;
            hdr.ie_peer_ipv6.setValid();
            hdr.ie_peer_ipv6.value = hdr.ipv6.dst_addr;
            bytes = 5 + 3 + 16;
        }
    }
}

control EchoResponse(inout headers_t hdr, out bit<16> bytes) {
    apply {
        hdr.ie_recovery.setValid();
        hdr.ie_recovery.type = GTPU_IE_RECOVERY;
        // The restart counter has no meaning any more and is 0 (TS 29.281 §8.2).
        hdr.ie_recovery.restart_counter = 0;
        bytes = 2;
    }
}

control SupportedExtensions(inout headers_t hdr, out bit<16> bytes) {
    apply {
        hdr.ie_extensions.setValid();
        hdr.ie_extensions.type = GTPU_IE_EXTENSION_TYPES;
        hdr.ie_extensions.length_ = 1;
        hdr.ie_extensions.extension = GTPU_EXTENSION_PDU_SESSION;
        bytes = 3;
    }
}

#endif
