// Arithmetic at 512 bits.

#include <v1model.p4>

header input_t {
    bit<512> a512;
    bit<512> b512;
}

header output_t {
    bit<512> sum512;
    bit<512> difference512;
    bit<512> product512;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.sum512 = input.a512 + input.b512;
        output.difference512 = input.a512 - input.b512;
        output.product512 = input.a512 * input.b512;
    }
}

#include "../include/compute.p4"
