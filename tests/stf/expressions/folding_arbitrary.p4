// Arithmetic of literals without a width is exact: nothing is lost before the value gets its width.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

header output_t {
    bit<8> big;
    bit<16> ratio;
    bit<8> remainder;
    bit<32> shifted;
    int<8> floor;
    bit<8> mixed;
}

const int N = 1000;

control Test(in input_t input, inout output_t output) {
    apply {
        output.big = (1 << 100) >> 96;
        output.ratio = 123456789012345678901234567890 / 1000000000000000000000000000;
        output.remainder = (0xFFFF * 0xFFFF) % 251;
        output.shifted = N * N * N - 1;
        output.floor = -7 >> 1;
        output.mixed = input.a + (300 - 299);
    }
}

#include "../include/compute.p4"
