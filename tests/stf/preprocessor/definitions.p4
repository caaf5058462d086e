// Options of the command line define macros, here a width and a constant; the program has other defaults.

#include <v1model.p4>

header input_t {
    bit<16> a;
}

header output_t {
    bit<16> x;
}

#ifndef N
#define N 4
#endif
#ifndef AMOUNT
#define AMOUNT 1
#endif

control Test(in input_t input, inout output_t output) {
    apply {
        bit<(N * 4)> wide = (bit<(N * 4)>)input.a;
        output.x = (bit<16>)wide + AMOUNT;
    }
}

#include "../include/compute.p4"
