// break and continue belong to the innermost loop.

#include <v1model.p4>

header input_t {
    bit<8> n;
}

header output_t {
    bit<16> sum;
    bit<8> inner;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.sum = 0;
        output.inner = 0;
        for (bit<8> i in 8w1 .. 4) {
            if (i == 2) {
                continue;
            }
            for (bit<8> j in 8w1 .. 10) {
                if (j > input.n) {
                    break;
                }
                output.inner = output.inner + 1;
                output.sum = output.sum + (bit<16>)(i * j);
            }
        }
    }
}

#include "../include/compute.p4"
