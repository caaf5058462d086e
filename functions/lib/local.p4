// Answers for the addresses of the function itself: to ARP, to neighbour solicitations, and to pings.

#ifndef FUNCTIONS_LIB_LOCAL_P4
#define FUNCTIONS_LIB_LOCAL_P4

#include "headers.p4"
#include "checksum.p4"

// A neighbour solicitation or advertisement (RFC 4861 §4.3, §4.4) after the first four bytes of ICMPv6, with one option of eight bytes: a
// link-layer address.
header neighbour_t {
    // Router, solicited, override; the rest is reserved.
    bit<3> flags;
    bit<29> reserved;
    ipv6_address_t target;
    bit<8> option_type;
    bit<8> option_length;
    mac_address_t mac;
}

// The first four bytes of ICMPv6.
header icmpv6_t {
    bit<8> type;
    bit<8> code;
    bit<16> checksum;
}

// Option types of neighbour discovery (RFC 4861 §4.6.1).
const bit<8> ND_SOURCE_LINK_LAYER_ADDRESS = 1;
const bit<8> ND_TARGET_LINK_LAYER_ADDRESS = 2;

// Answers requests for addresses of its table.
control AnswerArp(inout ethernet_t ethernet, inout arp_t arp, in bit<9> port, out bool answered) {
    mac_address_t own_mac = 0;

    action arp_reply(mac_address_t mac) {
        own_mac = mac;
    }

    // Addresses of each port.
    table arp_ipv4 {
        key = {
            port: exact @name("port");
            arp.target_ip: exact @name("address");
        }
        actions = {
            arp_reply;
            NoAction;
        }
        default_action = NoAction();
        size = 4096;
    }

    apply {
        answered = false;
        if (arp.operation == ARP_REQUEST && arp_ipv4.apply().hit) {
            answered = true;
            ipv4_address_t own_address = arp.target_ip;
            arp.operation = ARP_REPLY;
            arp.target_mac = arp.sender_mac;
            arp.target_ip = arp.sender_ip;
            arp.sender_mac = own_mac;
            arp.sender_ip = own_address;
            ethernet.dst_addr = arp.target_mac;
            ethernet.src_addr = own_mac;
        }
    }
}

// Whether a neighbour solicitation can be answered: it has the source link-layer address option. The caller has checked the ICMPv6 type.
// Duplicate address detection is not answered: it has no source, and with a nonce (RFC 7527) an option of another type.
bool is_answerable(in ipv6_t ipv6, in icmpv6_t icmpv6, in neighbour_t neighbour) {
    // RFC 4861 §7.1.1: a hop limit of 255 shows that the message comes from the link.
    return ipv6.hop_limit == 255 && icmpv6.code == 0 && neighbour.option_type == ND_SOURCE_LINK_LAYER_ADDRESS
        && neighbour.option_length == 1 && ipv6.src_addr != 0;
}

// Turns a neighbour solicitation into its advertisement.
control AdvertiseNeighbour(inout ethernet_t ethernet, inout ipv6_t ipv6, inout icmpv6_t icmpv6, inout neighbour_t neighbour,
                           in mac_address_t own_mac) {
    apply {
        ethernet.dst_addr = neighbour.mac;
        ethernet.src_addr = own_mac;
        ipv6.dst_addr = ipv6.src_addr;
        ipv6.src_addr = neighbour.target;
        ipv6.payload_len = 32;
        icmpv6.type = ICMPV6_NEIGHBOUR_ADVERTISEMENT;
        // Solicited, override.
        neighbour.flags = 3;
        neighbour.reserved = 0;
        neighbour.option_type = ND_TARGET_LINK_LAYER_ADDRESS;
        neighbour.option_length = 1;
        neighbour.mac = own_mac;
        // Pseudo header (length 32), type and code, flags, target, option type and length.
        bit<32> sum = checksum_words128(ipv6.src_addr) + checksum_words128(ipv6.dst_addr) + 32
            + (bit<32>) IP_PROTOCOL_ICMPV6 + 0x8800 + 0x6000
            + checksum_words128(neighbour.target) + 0x0201 + checksum_words48(neighbour.mac);
        icmpv6.checksum = ~checksum_fold(sum);
    }
}

// Answers neighbour solicitations for addresses of its table.
control AnswerNeighbour(inout ethernet_t ethernet, inout ipv6_t ipv6, inout icmpv6_t icmpv6, inout neighbour_t neighbour,
                        in bit<9> port, out bool answered) {
    AdvertiseNeighbour() advertise;
    mac_address_t own_mac = 0;

    action nd_advertise(mac_address_t mac) {
        own_mac = mac;
    }

    table nd_ipv6 {
        key = {
            port: exact @name("port");
            neighbour.target: exact @name("address");
        }
        actions = {
            nd_advertise;
            NoAction;
        }
        default_action = NoAction();
        size = 4096;
    }

    apply {
        answered = false;
        if (is_answerable(ipv6, icmpv6, neighbour) && nd_ipv6.apply().hit) {
            answered = true;
            advertise.apply(ethernet, ipv6, icmpv6, neighbour, own_mac);
        }
    }
}

// Turns an echo request over IPv4 into its answer.
control AnswerPing(inout ethernet_t ethernet, inout ipv4_t ipv4, inout icmp_t icmp) {
    apply {
        mac_address_t mac = ethernet.src_addr;
        ethernet.src_addr = ethernet.dst_addr;
        ethernet.dst_addr = mac;
        ipv4_address_t address = ipv4.src_addr;
        ipv4.src_addr = ipv4.dst_addr;
        ipv4.dst_addr = address;
        ipv4.hdr_checksum = checksum_update(ipv4.hdr_checksum,
            checksum_replace(ipv4.ttl ++ ipv4.protocol, 8w64 ++ ipv4.protocol));
        ipv4.ttl = 64;
        icmp.type = ICMP_ECHO_REPLY;
        icmp.checksum = checksum_update(icmp.checksum, checksum_replace(ICMP_ECHO_REQUEST ++ 8w0, ICMP_ECHO_REPLY ++ 8w0));
    }
}

// The same over IPv6. The checksum covers both addresses, in whatever order.
control AnswerPingIpv6(inout ethernet_t ethernet, inout ipv6_t ipv6, inout icmpv6_t icmpv6) {
    apply {
        mac_address_t mac = ethernet.src_addr;
        ethernet.src_addr = ethernet.dst_addr;
        ethernet.dst_addr = mac;
        ipv6_address_t address = ipv6.src_addr;
        ipv6.src_addr = ipv6.dst_addr;
        ipv6.dst_addr = address;
        ipv6.hop_limit = 64;
        icmpv6.type = ICMPV6_ECHO_REPLY;
        icmpv6.checksum = checksum_update(icmpv6.checksum, checksum_replace(ICMPV6_ECHO_REQUEST ++ 8w0, ICMPV6_ECHO_REPLY ++ 8w0));
    }
}

#endif
