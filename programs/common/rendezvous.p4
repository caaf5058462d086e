// The common part of the programs that compute on the first 64 bytes of IP payload in several passes: headers and the
// computation.
//
//   Ethernet 14 | IPv4 20 | data 64 | rest
//
// RECIRCULATIONS   recirculations of a packet until its computation is complete: n of the paper.
// COMPUTATION      what is computed, with two rounds a pass:
//                    MIX      an invertible mixture of the 16 words of data, for tests of the mechanism
//                    CHACHA   the data is encrypted with ChaCha of 2 * RECIRCULATIONS rounds (RFC 8439 for 10)
//
// A switch chip has a dozen stages in ingress and as many in egress, and does one step of arithmetic in each. So each pass has two
// halves, ComputeInIngress and ComputeInEgress. begin_computation() comes before the first of them, in another pass. After the last,
// the computed words and the packet's own data are combined.

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

#if RECIRCULATIONS < 1 || RECIRCULATIONS > 16
#error "RECIRCULATIONS must be 1 to 16"
#endif

// Values of standard_metadata.instance_type (behavioral-model docs/simple_switch.md).
const bit<32> INSTANCE_NORMAL = 0;
const bit<32> INSTANCE_INGRESS_CLONE = 1;
const bit<32> INSTANCE_RECIRCULATED = 4;

// The 64 bytes of a packet that are computed on.
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

// Slices, unlike shifts, cost no stage.
#define ROTATE_LEFT(word, bits) ((word)[31 - (bits):0] ++ (word)[31:32 - (bits)])

#define EACH_WORD(each) each(0) each(1) each(2) each(3) each(4) each(5) each(6) each(7) \
    each(8) each(9) each(10) each(11) each(12) each(13) each(14) each(15)

#if COMPUTATION == CHACHA
#include "chacha.p4"

// For programs that recirculate whole packets: the packet's own data are kept elsewhere while `hdr.data` holds the computation.
#define ALL_DATA(hdr) hdr.data.w0 ++ hdr.data.w1 ++ hdr.data.w2 ++ hdr.data.w3 ++ hdr.data.w4 ++ hdr.data.w5 ++ hdr.data.w6 ++ \
    hdr.data.w7 ++ hdr.data.w8 ++ hdr.data.w9 ++ hdr.data.w10 ++ hdr.data.w11 ++ hdr.data.w12 ++ hdr.data.w13 ++ \
    hdr.data.w14 ++ hdr.data.w15
#define KEEP_DATA(own) own = ALL_DATA(hdr);
#define OWN_WORD(own, i) hdr.data.w##i = COMBINED(own[511 - 32 * i:480 - 32 * i], hdr.data.w##i);
#define FINISH_OWN(i) FINISH(i, hdr.data.w##i, hdr.ipv4)
#define COMBINE_DATA(own) \
    EACH_WORD(FINISH_OWN) \
    OWN_WORD(own, 0) OWN_WORD(own, 1) OWN_WORD(own, 2) OWN_WORD(own, 3) \
    OWN_WORD(own, 4) OWN_WORD(own, 5) OWN_WORD(own, 6) OWN_WORD(own, 7) \
    OWN_WORD(own, 8) OWN_WORD(own, 9) OWN_WORD(own, 10) OWN_WORD(own, 11) \
    OWN_WORD(own, 12) OWN_WORD(own, 13) OWN_WORD(own, 14) OWN_WORD(own, 15)
#else
#define KEEP_DATA(own)
#define COMBINE_DATA(own)

action mix(inout bit<32> a, in bit<32> b, in bit<32> round) {
    a = a + round;
    a = ROTATE_LEFT(a, 7) ^ b;
}

// The input of the first pass is the packet's own data.
action begin_computation(inout data_t data, in ipv4_t ipv4) {
}

// Pass `number`, from 1 on: the whole pass.
control ComputeInIngress(inout data_t data, in bit<8> number) {
    action mix_all(bit<32> round) {
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

    // Multiples of 2^32 divided by the golden ratio: stages have no multiplication.
    table rounds {
        key = {
            number: exact;
        }
        actions = {
            mix_all;
            NoAction;
        }
        default_action = NoAction();
        const entries = {
            1: mix_all(0x9e3779b9);
            2: mix_all(0x3c6ef372);
            3: mix_all(0xdaa66d2b);
            4: mix_all(0x78dde6e4);
            5: mix_all(0x1715609d);
            6: mix_all(0xb54cda56);
            7: mix_all(0x5384540f);
            8: mix_all(0xf1bbcdc8);
            9: mix_all(0x8ff34781);
            10: mix_all(0x2e2ac13a);
            11: mix_all(0xcc623af3);
            12: mix_all(0x6a99b4ac);
            13: mix_all(0x08d12e65);
            14: mix_all(0xa708a81e);
            15: mix_all(0x454021d7);
            16: mix_all(0xe3779b90);
        }
    }

    apply {
        rounds.apply();
    }
}

control ComputeInEgress(inout data_t data) {
    apply {
    }
}

// The packet's data are what was computed.
#define FINISH(i, computed, ipv4)
#define COMBINED(own, computed) computed
#endif

#endif
