// Data that is no whole bytes has zeros in front, as in BMv2's psa_switch: {input.second} is hashed as 04 56.
#include <psa.p4>

header input_t {
    bit<4> first;
    bit<12> second;
}

header output_t {
    bit<16> nibble;
    bit<16> twelve;
    bit<16> both;
    bit<16> constant_bits;
}

control Test(in input_t input, inout output_t output) {
    Hash<bit<16>>(PSA_HashAlgorithm_t.CRC16) crc16;

    apply {
        output.nibble = crc16.get_hash({ input.first });
        output.twelve = crc16.get_hash({ input.second });
        output.both = crc16.get_hash({ input.first, input.second });
        output.constant_bits = crc16.get_hash({ 3w1, input.first, input.second });
    }
}

#include "../include/psa_compute.p4"
