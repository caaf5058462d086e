// Arithmetic at 2048 bits.

#include <v1model.p4>

header input_t {
    bit<2048> a2048;
    bit<2048> b2048;
}

header output_t {
    bit<2048> sum2048;
    bit<2048> difference2048;
    bit<2048> product2048;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.sum2048 = input.a2048 + input.b2048;
        output.difference2048 = input.a2048 - input.b2048;
        output.product2048 = input.a2048 * input.b2048;
    }
}

#include "../include/compute.p4"
