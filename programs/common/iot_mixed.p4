// The formats of IoT messages of different lengths, and of the N-packet that carries up to N of them.
//
//   message    Ethernet | IPv4 | UDP | flag (0xfa)        | payload                            48 + P bytes, 1 <= P <= 31
//   N-packet   Ethernet | IPv4 | UDP | flag (0xfd, count) | length 1, payload 1 | length 2 ...
//
// A switch chip cannot extract a header of variable length: a payload is parsed as pieces of 16, 8, 4, 2 and 1 bytes, those whose
// bit is set in its length.
//
// N   messages in an N-packet at most: 2, 4 or 8.
// IOT_UDP_PORT   UDP destination port of IoT traffic. Packets to other ports are not parsed further.

#ifndef COMMON_IOT_MIXED_P4
#define COMMON_IOT_MIXED_P4

#include "headers.p4"

#ifndef N
#define N 4
#endif
#ifndef IOT_UDP_PORT
#define IOT_UDP_PORT 9000
#endif

#if N != 2 && N != 4 && N != 8
#error "N, the most messages in an N-packet, must be 2, 4 or 8"
#endif

const bit<8> FLAG_MESSAGE = 0xfa;
const bit<8> FLAG_MIXED_PACKET = 0xfd;

const bit<16> ETHERNET_BYTES = 14;
const bit<16> IPV4_BYTES = 20;
const bit<16> UDP_BYTES = 8;
const bit<16> FLAG_BYTES = 6;
const bit<16> PAYLOAD_BYTES_MAX = 31;

// All pieces beside one another.
#define PIECES_BITS 248

header flag_t {
    bit<8> type;
    // Messages in an N-packet; 0 in a message.
    bit<8> count;
    bit<32> padding;
}

header length_t {
    bit<8> bytes;
}

header piece16_t {
    bit<128> data;
}

header piece8_t {
    bit<64> data;
}

header piece4_t {
    bit<32> data;
}

header piece2_t {
    bit<16> data;
}

header piece1_t {
    bit<8> data;
}

// The length stands before a payload in an N-packet alone.
struct message_t {
    length_t length;
    piece16_t piece16;
    piece8_t piece8;
    piece4_t piece4;
    piece2_t piece2;
    piece1_t piece1;
}

#endif
