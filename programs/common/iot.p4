// The formats of the IoT messages and N-packets, for every program that aggregates or disaggregates them.
//
//   message    Ethernet | IPv4 | UDP | flag (0xfa) | msg                    48 + P bytes
//   N-packet   Ethernet | IPv4 | UDP | flag (0xfc) | msg 1 | ... | msg N    48 + N * P bytes
//
// N   messages in an N-packet: 1 to 8.
// S   bytes of a message after its UDP header: the flag header (6) and the payload, so P = S - 6.
// IOT_UDP_PORT   UDP destination port of IoT traffic. Packets to other ports are not parsed further.
//
// All three are set at compile time: forebay ... -D N=4 -D S=26

#ifndef COMMON_IOT_P4
#define COMMON_IOT_P4

#include "headers.p4"

#ifndef N
#define N 8
#endif
#ifndef S
#define S 22
#endif
#ifndef IOT_UDP_PORT
#define IOT_UDP_PORT 9000
#endif

#if N < 1 || N > 8
#error "N, the number of messages in an N-packet, must be 1 to 8"
#endif
#if S < 7 || S > 128
#error "S, the flag header and the payload of a message, must be 7 to 128 bytes"
#endif

#define FLAG_BYTES 6
#define PAYLOAD_BYTES (S - FLAG_BYTES)
#define PAYLOAD_BITS (8 * PAYLOAD_BYTES)

const bit<8> FLAG_MESSAGE = 0xfa;
const bit<8> FLAG_N_PACKET = 0xfc;

const bit<16> ETHERNET_BYTES = 14;
const bit<16> IPV4_BYTES = 20;
const bit<16> UDP_BYTES = 8;
const bit<16> MESSAGE_UDP_BYTES = UDP_BYTES + S;
const bit<16> N_PACKET_UDP_BYTES = UDP_BYTES + FLAG_BYTES + N * PAYLOAD_BYTES;

header flag_t {
    bit<8> type;
    bit<40> padding;
}

// The payload of one message.
header msg_t {
    bit<PAYLOAD_BITS> data;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t ipv4;
    udp_t udp;
    flag_t flag;
    // The payload of a message.
    msg_t msg;
    // The payloads of an N-packet: "agg" of the paper.
    msg_t[N] agg;
}

// What the UDP checksum covers beside the segment: addresses, protocol and length (RFC 768).
#define UDP_PSEUDO_HEADER hdr.ipv4.src_addr, hdr.ipv4.dst_addr, 8w0, hdr.ipv4.protocol, hdr.udp.length_, \
    hdr.udp.src_port, hdr.udp.dst_port, hdr.udp.length_

#if N == 1
#define AGG_FIELDS hdr.agg[0].data
#elif N == 2
#define AGG_FIELDS hdr.agg[0].data, hdr.agg[1].data
#elif N == 3
#define AGG_FIELDS hdr.agg[0].data, hdr.agg[1].data, hdr.agg[2].data
#elif N == 4
#define AGG_FIELDS hdr.agg[0].data, hdr.agg[1].data, hdr.agg[2].data, hdr.agg[3].data
#elif N == 5
#define AGG_FIELDS hdr.agg[0].data, hdr.agg[1].data, hdr.agg[2].data, hdr.agg[3].data, \
    hdr.agg[4].data
#elif N == 6
#define AGG_FIELDS hdr.agg[0].data, hdr.agg[1].data, hdr.agg[2].data, hdr.agg[3].data, \
    hdr.agg[4].data, hdr.agg[5].data
#elif N == 7
#define AGG_FIELDS hdr.agg[0].data, hdr.agg[1].data, hdr.agg[2].data, hdr.agg[3].data, \
    hdr.agg[4].data, hdr.agg[5].data, hdr.agg[6].data
#else
#define AGG_FIELDS hdr.agg[0].data, hdr.agg[1].data, hdr.agg[2].data, hdr.agg[3].data, \
    hdr.agg[4].data, hdr.agg[5].data, hdr.agg[6].data, hdr.agg[7].data
#endif

error {
    // An N-packet or message whose IP or UDP length is not that of its kind.
    IotBadLength,
    // A flag header that is neither a message's nor an N-packet's.
    IotBadType
}

#endif
