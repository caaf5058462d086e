// ChaCha (Bernstein 2008; RFC 8439) in steps of two rounds: a column round and a diagonal round.
//
// The key is the program's (CHACHA_KEY_0 ... 7, little-endian words), the block counter 1, and the nonce what tells packets apart:
// source and destination address and identification of the IP header. Both ends of a tunnel know all of it.

#ifndef COMMON_CHACHA_P4
#define COMMON_CHACHA_P4

#ifndef CHACHA_KEY_0
#define CHACHA_KEY_0 32w0x03020100
#define CHACHA_KEY_1 32w0x07060504
#define CHACHA_KEY_2 32w0x0b0a0908
#define CHACHA_KEY_3 32w0x0f0e0d0c
#define CHACHA_KEY_4 32w0x13121110
#define CHACHA_KEY_5 32w0x17161514
#define CHACHA_KEY_6 32w0x1b1a1918
#define CHACHA_KEY_7 32w0x1f1e1d1c
#endif

#define SWAP_BYTES(word) ((word)[7:0] ++ (word)[15:8] ++ (word)[23:16] ++ (word)[31:24])

// The block's first state (RFC 8439, section 2.3), in place of the packet's data.
action begin_computation(inout data_t data, in ipv4_t ipv4) {
    data.w0 = 0x61707865;
    data.w1 = 0x3320646e;
    data.w2 = 0x79622d32;
    data.w3 = 0x6b206574;
    data.w4 = CHACHA_KEY_0;
    data.w5 = CHACHA_KEY_1;
    data.w6 = CHACHA_KEY_2;
    data.w7 = CHACHA_KEY_3;
    data.w8 = CHACHA_KEY_4;
    data.w9 = CHACHA_KEY_5;
    data.w10 = CHACHA_KEY_6;
    data.w11 = CHACHA_KEY_7;
    data.w12 = 1;
    data.w13 = SWAP_BYTES(ipv4.src_addr);
    data.w14 = SWAP_BYTES(ipv4.dst_addr);
    data.w15 = 16w0 ++ ipv4.identification[7:0] ++ ipv4.identification[15:8];
}

action quarter_round(inout bit<32> a, inout bit<32> b, inout bit<32> c, inout bit<32> d) {
    a = a + b;
    d = ROTATE_LEFT(d ^ a, 16);
    c = c + d;
    b = ROTATE_LEFT(b ^ c, 12);
    a = a + b;
    d = ROTATE_LEFT(d ^ a, 8);
    c = c + d;
    b = ROTATE_LEFT(b ^ c, 7);
}

// Two rounds; every pass does the same.
action compute(inout data_t data, in bit<8> number) {
    quarter_round(data.w0, data.w4, data.w8, data.w12);
    quarter_round(data.w1, data.w5, data.w9, data.w13);
    quarter_round(data.w2, data.w6, data.w10, data.w14);
    quarter_round(data.w3, data.w7, data.w11, data.w15);
    quarter_round(data.w0, data.w5, data.w10, data.w15);
    quarter_round(data.w1, data.w6, data.w11, data.w12);
    quarter_round(data.w2, data.w7, data.w8, data.w13);
    quarter_round(data.w3, data.w4, data.w9, data.w14);
}

// Adds the first state, and brings the words into the order of bytes of the packet.
action end_computation(inout data_t data, in ipv4_t ipv4) {
    data_t first;
    first.setValid();
    begin_computation(first, ipv4);
    data.w0 = SWAP_BYTES(data.w0 + first.w0);
    data.w1 = SWAP_BYTES(data.w1 + first.w1);
    data.w2 = SWAP_BYTES(data.w2 + first.w2);
    data.w3 = SWAP_BYTES(data.w3 + first.w3);
    data.w4 = SWAP_BYTES(data.w4 + first.w4);
    data.w5 = SWAP_BYTES(data.w5 + first.w5);
    data.w6 = SWAP_BYTES(data.w6 + first.w6);
    data.w7 = SWAP_BYTES(data.w7 + first.w7);
    data.w8 = SWAP_BYTES(data.w8 + first.w8);
    data.w9 = SWAP_BYTES(data.w9 + first.w9);
    data.w10 = SWAP_BYTES(data.w10 + first.w10);
    data.w11 = SWAP_BYTES(data.w11 + first.w11);
    data.w12 = SWAP_BYTES(data.w12 + first.w12);
    data.w13 = SWAP_BYTES(data.w13 + first.w13);
    data.w14 = SWAP_BYTES(data.w14 + first.w14);
    data.w15 = SWAP_BYTES(data.w15 + first.w15);
}

// Encrypts or decrypts a word.
action combine(inout bit<32> word, in bit<32> computed) {
    word = word ^ computed;
}

#endif
