// Whether lengths in headers disagree with each other or with the frame (RFC 1812 §5.2.2, RFC 8200 §3, RFC 9293 §3.1, RFC 768), and whether a router
// must not forward an address.
//
// Ingress calls these before any look-up, so that bytes after the end of a packet are never taken for its ports. In ingress each comparison is a
// branch that is hardly ever taken; in the parser, as `verify`, the same comparisons took up to a sixth of the packet rate.

#ifndef FUNCTIONS_LIB_VALID_P4
#define FUNCTIONS_LIB_VALID_P4

#include "headers.p4"

// Bytes after the header and its options.
bit<16> ipv4_payload_bytes(in ipv4_t ipv4) {
    return ipv4.total_len - ((bit<16>) ipv4.ihl << 2);
}

// `frame_bytes` has the Ethernet header (14 bytes), and may be more than the packet, since short frames are padded.
bool has_wrong_ipv4_length(in ipv4_t ipv4, in bit<32> frame_bytes) {
    return ipv4.total_len < (bit<16>) ipv4.ihl << 2 || (bit<32>) ipv4.total_len + 14 > frame_bytes;
}

bool has_wrong_ipv6_length(in ipv6_t ipv6, in bit<32> frame_bytes) {
    return (bit<32>) ipv6.payload_len + (bit<32>) (IPV6_BYTES + 14) > frame_bytes;
}

// Whether the header is not within the payload of IP. A first fragment must have all of it, too (RFC 1858).
bool has_wrong_tcp_length(in tcp_t tcp, in bit<16> payload_bytes) {
    return tcp.data_offset < 5 || (bit<16>) tcp.data_offset << 2 > payload_bytes;
}

// Whether the datagram is not within the payload of IP; a fragment has only a part of it.
bool has_wrong_udp_length(in udp_t udp, in bit<16> payload_bytes, in bit<1> is_fragment) {
    return payload_bytes < UDP_BYTES || udp.length_ < UDP_BYTES || udp.length_ > payload_bytes && is_fragment == 0;
}

// 0/8, 127/8, 169.254/16, groups, 240/4 and the broadcast address (RFC 1812 §5.3.7, RFC 3927 §2.7). The functions do not route groups.
bool is_never_forwarded_ipv4(in ipv4_address_t address) {
    return address[31:29] == 7 || address[31:24] == 0 || address[31:24] == 127 || address[31:16] == 0xa9fe;
}

// ::, ::1, fe80::/10 and groups (RFC 4291 §2.5.2, §2.5.3, §2.5.6, §2.7).
bool is_never_forwarded_ipv6(in ipv6_address_t address) {
    return address <= 1 || address[127:118] == 0x3fa || address[127:120] == 0xff;
}

#endif
