// ICMP errors of the function itself (RFC 792, RFC 1812 §4.3), over IPv4: the packet becomes a message to its sender that quotes its
// header and the eight bytes after it.
//
// The deparser emits error_ipv4 and error_icmp before ipv4, and quoted after it in place of the transport header.

#ifndef FUNCTIONS_LIB_ICMP_ERROR_P4
#define FUNCTIONS_LIB_ICMP_ERROR_P4

#include "headers.p4"
#include "checksum.p4"

// Codes of ICMP_UNREACHABLE (RFC 792, RFC 1812 §5.2.7.1).
const bit<8> ICMP_HOST_UNREACHABLE = 1;
const bit<8> ICMP_FRAGMENTATION_NEEDED = 4;
const bit<8> ICMP_PROHIBITED = 13;

// The first eight bytes of a transport header. UDP: ports, length, checksum; TCP: ports, sequence number; ICMP: type and code, checksum,
// identifier, sequence number.
header transport_start_t {
    bit<16> first;
    bit<16> second;
    bit<16> third;
    bit<16> fourth;
}

// Bytes of a message: Ethernet, IPv4, ICMP, and what it quotes.
const bit<32> ICMP_ERROR_BYTES = 14 + 20 + 8 + 28;

// Turns the packet into an error to its sender. The caller must ensure that the packet has an IPv4 header without options and at least eight
// bytes after it, in `quoted`, and that an error about it is allowed (`may_be_reported`).
control MakeIcmpError(inout ethernet_t ethernet, inout ipv4_t error_ipv4, inout icmp_t error_icmp, in ipv4_t ipv4,
                      in transport_start_t quoted, in bit<8> type, in bit<8> code, in bit<16> mtu, in ipv4_address_t own_addr) {
    apply {
        mac_address_t mac = ethernet.src_addr;
        ethernet.src_addr = ethernet.dst_addr;
        ethernet.dst_addr = mac;
        error_ipv4.setValid();
        error_ipv4.version = 4;
        error_ipv4.ihl = 5;
        // Precedence 6 (RFC 1812 §4.3.2.5): CS6.
        error_ipv4.dscp = 48;
        error_ipv4.ecn = 0;
        // IPv4, ICMP, and the quoted 20 + 8 bytes.
        error_ipv4.total_len = 56;
        error_ipv4.identification = 0;
        error_ipv4.reserved = 0;
        error_ipv4.dont_fragment = 0;
        error_ipv4.more_fragments = 0;
        error_ipv4.frag_offset = 0;
        error_ipv4.ttl = 64;
        error_ipv4.protocol = IP_PROTOCOL_ICMP;
        error_ipv4.src_addr = own_addr;
        error_ipv4.dst_addr = ipv4.src_addr;
        error_ipv4.hdr_checksum = ~checksum_fold(0x45c0 + 56 + 0x4001 + checksum_words32(own_addr)
            + checksum_words32(ipv4.src_addr));
        error_icmp.setValid();
        error_icmp.type = type;
        error_icmp.code = code;
        error_icmp.rest = (bit<32>) mtu;
        // The words of the quoted header, whose checksum has been verified, add up to 0xffff.
        error_icmp.checksum = ~checksum_fold((bit<32>) (type ++ code) + (bit<32>) mtu + 0xffff + (bit<32>) quoted.first
            + (bit<32>) quoted.second + (bit<32>) quoted.third + (bit<32>) quoted.fourth);
        truncate(ICMP_ERROR_BYTES);
    }
}

// RFC 1812 §4.3.2.7: no errors about multicast, broadcast, packets without a sender, and later fragments.
bool may_be_reported(in mac_address_t receiver, in ipv4_t ipv4) {
    return receiver[40:40] == 0 && ipv4.dst_addr[31:28] < 14 && ipv4.src_addr[31:28] < 14
        && ipv4.src_addr[31:24] != 0 && ipv4.src_addr[31:24] != 127 && ipv4.frag_offset == 0 && ipv4.ihl == 5;
}

#endif
