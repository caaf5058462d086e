// A 129-bit value is shifted by an amount from the packet, across word boundaries.

#include <v1model.p4>

header input_t {
    bit<129> a;
    bit<8> n;
    bit<7> pad;
}

header output_t {
    bit<129> left;
    bit<129> right;
    bit<6> pad;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.left = input.a << input.n;
        output.right = input.a >> input.n;
        output.pad = 0;
    }
}

#include "../include/compute.p4"
