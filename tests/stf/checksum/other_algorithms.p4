// Checksums with crc16, crc32 and xor16.

#include <v1model.p4>

header input_t {
    bit<32> data;
    bit<16> crc16_sum;
    bit<32> crc32_sum;
    bit<16> xor16_sum;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

#define COMPUTE TestCompute
control TestCompute(inout headers_t hdr, inout meta_t meta) {
    apply {
        update_checksum(true, { hdr.input.data }, hdr.input.crc16_sum, HashAlgorithm.crc16);
        update_checksum(true, { hdr.input.data }, hdr.input.crc32_sum, HashAlgorithm.crc32);
        update_checksum(true, { hdr.input.data }, hdr.input.xor16_sum, HashAlgorithm.xor16);
    }
}

#include "../include/skeleton.p4"
