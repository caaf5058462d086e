// A literal without width takes the width of the other operand, and may lose its top bits.

#include <v1model.p4>

header input_t {
    bit<8> a;
    int<8> b;
}

header output_t {
    bit<8> x;
    int<8> y;
    bit<8> z;
    bool w;
    bit<7> pad;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.x = input.a + 0x105;
        output.y = input.b - 1;
        output.z = 255 - input.a;
        output.w = input.b < -1;
        output.pad = 0;
    }
}

#include "../include/compute.p4"
