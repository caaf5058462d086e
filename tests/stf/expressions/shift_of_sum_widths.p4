// A shift has the width of its left operand: widening must come before it.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<4> n;
    bit<4> pad;
}

header output_t {
    bit<16> narrow;
    bit<16> wide;
    bit<16> constant;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.narrow = (bit<16>)(input.a << input.n);
        output.wide = (bit<16>)input.a << input.n;
        output.constant = 16w1 << input.n;
    }
}

#include "../include/compute.p4"
