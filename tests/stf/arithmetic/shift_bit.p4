// Logical shifts; a shift by the width or more gives 0.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> n;
}

header output_t {
    bit<8> left;
    bit<8> right;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.left = input.a << input.n;
        output.right = input.a >> input.n;
    }
}

#include "../include/compute.p4"
