// Headers that the programs share: Ethernet II, IPv4 (RFC 791), UDP (RFC 768).

#ifndef COMMON_HEADERS_P4
#define COMMON_HEADERS_P4

const bit<16> ETHERTYPE_IPV4 = 0x0800;
const bit<8> IP_PROTOCOL_UDP = 17;

typedef bit<48> mac_address_t;
typedef bit<32> ipv4_address_t;

header ethernet_t {
    mac_address_t dst_addr;
    mac_address_t src_addr;
    bit<16> ether_type;
}

header ipv4_t {
    bit<4> version;
    bit<4> ihl;
    bit<8> tos;
    bit<16> total_len;
    bit<16> identification;
    bit<3> flags;
    bit<13> frag_offset;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> hdr_checksum;
    ipv4_address_t src_addr;
    ipv4_address_t dst_addr;
}

header udp_t {
    bit<16> src_port;
    bit<16> dst_port;
    bit<16> length_;
    bit<16> checksum;
}

#endif
