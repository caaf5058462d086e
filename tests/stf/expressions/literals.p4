// Literals: binary, octal, decimal and hexadecimal, with underscores, widths and signs.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

header output_t {
    bit<16> x;
    bit<16> y;
    int<16> z;
    bit<32> w;
    bit<8> v;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.x = 16w0b1010_0101_1100_0011 ^ 16w0xFFFF;
        output.y = 0o777 + 16w1_000;
        output.z = -16s0x1234;
        output.w = 0xDEAD_BEEF;
        output.v = input.a + 0d10;
    }
}

#include "../include/compute.p4"
