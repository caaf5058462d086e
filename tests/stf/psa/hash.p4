// A Hash gives the algorithm's value, or one in a range.
#include <psa.p4>

header input_t {
    bit<8> first;
    bit<16> second;
}

header output_t {
    bit<32> crc32;
    bit<16> crc16;
    bit<16> ranged;
}

control Test(in input_t input, inout output_t output) {
    Hash<bit<32>>(PSA_HashAlgorithm_t.CRC32) crc32;
    Hash<bit<16>>(PSA_HashAlgorithm_t.CRC16) crc16;

    apply {
        output.crc32 = crc32.get_hash({ input.first, input.second });
        output.crc16 = crc16.get_hash({ input.first, input.second });
        output.ranged = crc16.get_hash(16w100, { input.first, input.second }, 16w50);
    }
}

#include "../include/psa_compute.p4"
