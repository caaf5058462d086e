// Negative literals take the width and sign of what they meet, in assignments, comparisons and masks.

#include <v1model.p4>

header input_t {
    bit<8> a;
    int<8> b;
}

header output_t {
    bit<8> x;
    bool y;
    bool z;
    int<8> w;
    bit<6> pad;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.x = input.a & -16;
        output.y = input.b >= -128;
        output.z = input.b == -(1 << 7);
        output.w = -(-input.b);
        output.pad = 0;
    }
}

#include "../include/compute.p4"
