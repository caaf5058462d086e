// What the programs share that compute on a packet's first 64 bytes of IP payload in several passes: headers, parser parts,
// and the computation.
//
//   Ethernet 14 | IPv4 20 | data 64 | rest
//
// RECIRCULATIONS   how often a packet comes back before its computation is complete: n of the paper.
// COMPUTATION      what is computed, with two rounds a pass:
//                    MIX      an invertible mixture of the 16 words of data, for tests of the mechanism
//                    CHACHA   the data is encrypted with ChaCha of 2 * RECIRCULATIONS rounds (RFC 8439 for 10)

#ifndef COMMON_RENDEZVOUS_P4
#define COMMON_RENDEZVOUS_P4

#include "headers.p4"

#ifndef RECIRCULATIONS
#define RECIRCULATIONS 8
#endif

#define MIX 1
#define CHACHA 2
#ifndef COMPUTATION
#define COMPUTATION MIX
#endif

// Values of standard_metadata.instance_type (behavioral-model docs/simple_switch.md).
const bit<32> INSTANCE_NORMAL = 0;
const bit<32> INSTANCE_INGRESS_CLONE = 1;
const bit<32> INSTANCE_RECIRCULATED = 4;

// 64 bytes: the part of a packet on which is computed.
header data_t {
    bit<32> w0;
    bit<32> w1;
    bit<32> w2;
    bit<32> w3;
    bit<32> w4;
    bit<32> w5;
    bit<32> w6;
    bit<32> w7;
    bit<32> w8;
    bit<32> w9;
    bit<32> w10;
    bit<32> w11;
    bit<32> w12;
    bit<32> w13;
    bit<32> w14;
    bit<32> w15;
}

#define ROTATE_LEFT(word, bits) (((word) << (bits)) | ((word) >> (32 - (bits))))

#define ALL_DATA(hdr) hdr.data.w0 ++ hdr.data.w1 ++ hdr.data.w2 ++ hdr.data.w3 ++ hdr.data.w4 ++ hdr.data.w5 ++ hdr.data.w6 ++ \
    hdr.data.w7 ++ hdr.data.w8 ++ hdr.data.w9 ++ hdr.data.w10 ++ hdr.data.w11 ++ hdr.data.w12 ++ hdr.data.w13 ++ \
    hdr.data.w14 ++ hdr.data.w15

#if COMPUTATION == CHACHA
#include "chacha.p4"

// For programs that recirculate whole packets: the packet's own data step aside while there is computed in their place.
#define KEEP_DATA(own) own = ALL_DATA(hdr);
#define COMBINE_DATA(own) \
    hdr.data.w0 = hdr.data.w0 ^ own[511:480]; \
    hdr.data.w1 = hdr.data.w1 ^ own[479:448]; \
    hdr.data.w2 = hdr.data.w2 ^ own[447:416]; \
    hdr.data.w3 = hdr.data.w3 ^ own[415:384]; \
    hdr.data.w4 = hdr.data.w4 ^ own[383:352]; \
    hdr.data.w5 = hdr.data.w5 ^ own[351:320]; \
    hdr.data.w6 = hdr.data.w6 ^ own[319:288]; \
    hdr.data.w7 = hdr.data.w7 ^ own[287:256]; \
    hdr.data.w8 = hdr.data.w8 ^ own[255:224]; \
    hdr.data.w9 = hdr.data.w9 ^ own[223:192]; \
    hdr.data.w10 = hdr.data.w10 ^ own[191:160]; \
    hdr.data.w11 = hdr.data.w11 ^ own[159:128]; \
    hdr.data.w12 = hdr.data.w12 ^ own[127:96]; \
    hdr.data.w13 = hdr.data.w13 ^ own[95:64]; \
    hdr.data.w14 = hdr.data.w14 ^ own[63:32]; \
    hdr.data.w15 = hdr.data.w15 ^ own[31:0];
#else
#define KEEP_DATA(own)
#define COMBINE_DATA(own)

// What goes into the first pass is the packet's own data.
action begin_computation(inout data_t data, in ipv4_t ipv4) {
}

action mix(inout bit<32> a, in bit<32> b, in bit<32> round) {
    a = ROTATE_LEFT(a + round, 7) ^ b;
}

// Pass `number`, from 1 on.
action compute(inout data_t data, in bit<8> number) {
    bit<32> round = 32w0x9e3779b9 * (bit<32>) number;
    mix(data.w0, data.w1, round);
    mix(data.w1, data.w2, round);
    mix(data.w2, data.w3, round);
    mix(data.w3, data.w4, round);
    mix(data.w4, data.w5, round);
    mix(data.w5, data.w6, round);
    mix(data.w6, data.w7, round);
    mix(data.w7, data.w8, round);
    mix(data.w8, data.w9, round);
    mix(data.w9, data.w10, round);
    mix(data.w10, data.w11, round);
    mix(data.w11, data.w12, round);
    mix(data.w12, data.w13, round);
    mix(data.w13, data.w14, round);
    mix(data.w14, data.w15, round);
    mix(data.w15, data.w0, round);
}

// After the last pass.
action end_computation(inout data_t data, in ipv4_t ipv4) {
}

// The packet's data take in what was computed.
action combine(inout bit<32> word, in bit<32> computed) {
    word = computed;
}
#endif

#endif
