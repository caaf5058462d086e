// Saturation works at the widths of machine words and beyond them.

#include <v1model.p4>

header input_t {
    bit<64> a;
    bit<64> b;
    int<65> c;
    int<65> d;
    bit<6> pad;
}

header output_t {
    bit<64> sum;
    bit<64> difference;
    int<65> wide_sum;
    int<65> wide_difference;
    bit<6> pad;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.sum = input.a |+| input.b;
        output.difference = input.a |-| input.b;
        output.wide_sum = input.c |+| input.d;
        output.wide_difference = input.c |-| input.d;
        output.pad = 0;
    }
}

#include "../include/compute.p4"
