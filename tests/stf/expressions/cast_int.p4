// Casts between widths of int: widening copies the sign, narrowing may change it.

#include <v1model.p4>

header input_t {
    int<8> a;
    int<16> b;
}

header output_t {
    int<32> wide;
    int<129> very_wide;
    int<8> narrow;
    int<7> one;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.wide = (int<32>)input.a;
        output.very_wide = (int<129>)input.a;
        output.narrow = (int<8>)input.b;
        output.one = (int<7>)input.b;
    }
}

#include "../include/compute.p4"
