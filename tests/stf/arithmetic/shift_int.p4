// Right shifts of int<W> copy the sign, also by the width or more.

#include <v1model.p4>

header input_t {
    int<8> a;
    bit<8> n;
}

header output_t {
    int<8> left;
    int<8> right;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.left = input.a << input.n;
        output.right = input.a >> input.n;
    }
}

#include "../include/compute.p4"
