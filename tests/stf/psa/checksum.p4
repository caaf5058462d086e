// A Checksum is that of all data that update() was given since clear(), where it was executed.
#include <psa.p4>

header input_t {
    bit<8> first;
    bit<16> second;
}

header output_t {
    bit<32> all;
    bit<16> part;
}

control Test(in input_t input, inout output_t output) {
    Checksum<bit<32>>(PSA_HashAlgorithm_t.CRC32) all;
    Checksum<bit<16>>(PSA_HashAlgorithm_t.CRC16) part;

    apply {
        all.clear();
        all.update(input.first);
        all.update({ input.second });
        if (input.first == 0x80) {
            all.update(8w0x99);
        }
        output.all = all.get();
        part.clear();
        part.update(input.first);
        part.clear();
        part.update(input.second);
        output.part = part.get();
    }
}

#include "../include/psa_compute.p4"
