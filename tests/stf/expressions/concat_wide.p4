// Concatenation of odd widths to 129 bits and back by slices.

#include <v1model.p4>

header input_t {
    bit<63> a;
    bit<1> b;
    bit<65> c;
    bit<7> pad;
}

header output_t {
    bit<129> x;
    bit<63> back;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.x = input.a ++ input.b ++ input.c;
        output.back = (input.a ++ input.b ++ input.c)[128:66];
    }
}

#include "../include/compute.p4"
