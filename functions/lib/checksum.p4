// Incremental updates of the Internet checksum (RFC 1624). A packet that arrives with a wrong checksum leaves with a
// wrong one.
//
// A sum is a bit<32> to which 16-bit words are added; it holds 65,535 of them. Adding the complement of a word removes it.

#ifndef FUNCTIONS_LIB_CHECKSUM_P4
#define FUNCTIONS_LIB_CHECKSUM_P4

// A sum folded to 16 bits in ones' complement.
bit<16> checksum_fold(in bit<32> sum) {
    bit<32> once = (bit<32>) sum[15:0] + (bit<32>) sum[31:16];
    return once[15:0] + once[31:16];
}

// The checksum after `added` words have been added to what it covers. Words that left are added as complements.
bit<16> checksum_update(in bit<16> checksum, in bit<32> added) {
    return ~checksum_fold((bit<32>) ~checksum + added);
}

// The same for UDP, where zero means that there is no checksum.
bit<16> udp_checksum_update(in bit<16> checksum, in bit<32> added) {
    bit<16> updated = checksum;
    if (checksum != 0) {
        updated = checksum_update(checksum, added);
        if (updated == 0) {
            updated = 0xffff;
        }
    }
    return updated;
}

// What a word that becomes another adds.
bit<32> checksum_replace(in bit<16> before, in bit<16> after) {
    return (bit<32>) ~before + (bit<32>) after;
}

bit<32> checksum_replace32(in bit<32> before, in bit<32> after) {
    return (bit<32>) ~before[31:16] + (bit<32>) ~before[15:0] + (bit<32>) after[31:16] + (bit<32>) after[15:0];
}

bit<32> checksum_words32(in bit<32> value) {
    return (bit<32>) value[31:16] + (bit<32>) value[15:0];
}

bit<32> checksum_words48(in bit<48> value) {
    return (bit<32>) value[47:32] + (bit<32>) value[31:16] + (bit<32>) value[15:0];
}

bit<32> checksum_words64(in bit<64> value) {
    return (bit<32>) value[63:48] + (bit<32>) value[47:32] + (bit<32>) value[31:16] + (bit<32>) value[15:0];
}

bit<32> checksum_words128(in bit<128> value) {
    return (bit<32>) value[127:112] + (bit<32>) value[111:96] + (bit<32>) value[95:80] + (bit<32>) value[79:64]
        + (bit<32>) value[63:48] + (bit<32>) value[47:32] + (bit<32>) value[31:16] + (bit<32>) value[15:0];
}

#endif
