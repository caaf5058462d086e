// Slices of numbers without a width: literals, constants, negative numbers and constructor parameters.

#include <v1model.p4>

const int WORD = 0x1234;
const int NEGATIVE = -2;

header input_t {
    bit<8> a;
}

header output_t {
    bit<8> high;
    bit<8> low;
    bit<8> beyond;
    bit<8> ones;
    bit<8> literal;
    bit<8> parameter;
    bit<8> sum;
}

control Slices(in input_t input, inout output_t output)(int number) {
    apply {
        output.high = WORD[15:8];
        output.low = WORD[7:0];
        output.beyond = WORD[19:12];
        output.ones = NEGATIVE[8:1];
        output.literal = 0xabc[11:4];
        output.parameter = number[11:4];
        output.sum = (number + 1)[7:0] + input.a;
    }
}

control Test(in input_t input, inout output_t output) {
    Slices(0x5678) slices;

    apply {
        slices.apply(input, output);
    }
}

#include "../include/compute.p4"
