// The amount of a shift may be wider than what is shifted, and so large that it does not fit in a machine word.

#include <v1model.p4>

header input_t {
    bit<16> a;
    bit<96> n;
}

header output_t {
    bit<16> left;
    bit<16> right;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.left = input.a << input.n;
        output.right = input.a >> input.n;
    }
}

#include "../include/compute.p4"
