// ChaCha (Bernstein 2008; RFC 8439) in steps of two rounds: a column round and a diagonal round.
//
// The key is the program's (CHACHA_KEY_0 ... 7, little-endian words), the block counter CHACHA_COUNTER. The nonce is source address, destination
// address and identification of the IP header, so that it differs between packets and both ends of a tunnel know it.

#ifndef COMMON_CHACHA_P4
#define COMMON_CHACHA_P4

#ifndef CHACHA_COUNTER
#define CHACHA_COUNTER 1
#endif

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

// The block's first state (RFC 8439, section 2.3); `ipv4` is the packet's header.
#define FIRST_0(ipv4) 32w0x61707865
#define FIRST_1(ipv4) 32w0x3320646e
#define FIRST_2(ipv4) 32w0x79622d32
#define FIRST_3(ipv4) 32w0x6b206574
#define FIRST_4(ipv4) CHACHA_KEY_0
#define FIRST_5(ipv4) CHACHA_KEY_1
#define FIRST_6(ipv4) CHACHA_KEY_2
#define FIRST_7(ipv4) CHACHA_KEY_3
#define FIRST_8(ipv4) CHACHA_KEY_4
#define FIRST_9(ipv4) CHACHA_KEY_5
#define FIRST_10(ipv4) CHACHA_KEY_6
#define FIRST_11(ipv4) CHACHA_KEY_7
#define FIRST_12(ipv4) CHACHA_COUNTER
#define FIRST_13(ipv4) SWAP_BYTES(ipv4.src_addr)
#define FIRST_14(ipv4) SWAP_BYTES(ipv4.dst_addr)
#define FIRST_15(ipv4) (16w0 ++ ipv4.identification[7:0] ++ ipv4.identification[15:8])

// Writes the first state in place of the packet's data.
#define BEGIN_WORD(i) data.w##i = FIRST_##i(ipv4);
action begin_computation(inout data_t data, in ipv4_t ipv4) {
    EACH_WORD(BEGIN_WORD)
}

// Four quarter rounds side by side: eight steps, each on all columns or diagonals at once.
#define COLUMNS(step) step(0, 4, 8, 12) step(1, 5, 9, 13) step(2, 6, 10, 14) step(3, 7, 11, 15)
#define DIAGONALS(step) step(0, 5, 10, 15) step(1, 6, 11, 12) step(2, 7, 8, 13) step(3, 4, 9, 14)
#define ADD_TO_A(a, b, c, d) data.w##a = data.w##a + data.w##b;
#define ADD_TO_C(a, b, c, d) data.w##c = data.w##c + data.w##d;
#define TURN_D_16(a, b, c, d) data.w##d = ROTATE_LEFT(data.w##d ^ data.w##a, 16);
#define TURN_B_12(a, b, c, d) data.w##b = ROTATE_LEFT(data.w##b ^ data.w##c, 12);
#define TURN_D_8(a, b, c, d) data.w##d = ROTATE_LEFT(data.w##d ^ data.w##a, 8);
#define TURN_B_7(a, b, c, d) data.w##b = ROTATE_LEFT(data.w##b ^ data.w##c, 7);
#define FIRST_HALF(them) them(ADD_TO_A) them(TURN_D_16) them(ADD_TO_C) them(TURN_B_12)
#define SECOND_HALF(them) them(ADD_TO_A) them(TURN_D_8) them(ADD_TO_C) them(TURN_B_7)

// The columns, and half of the diagonals: twelve steps. Every pass does the same.
control ComputeInIngress(inout data_t data, in bit<8> number) {
    apply {
        FIRST_HALF(COLUMNS)
        SECOND_HALF(COLUMNS)
        FIRST_HALF(DIAGONALS)
    }
}

// The rest of the diagonals.
control ComputeInEgress(inout data_t data) {
    apply {
        SECOND_HALF(DIAGONALS)
    }
}

// After the last pass the first state is added to word `i`, and the packet's own word is encrypted, or decrypted, with it.
#define FINISH(i, computed, ipv4) computed = computed + FIRST_##i(ipv4);
#define COMBINED(own, computed) (own) ^ SWAP_BYTES(computed)

#endif
