// Unsigned addition, subtraction, multiplication and negation keep only the low bits.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
}

header output_t {
    bit<8> sum;
    bit<8> difference;
    bit<8> product;
    bit<8> negation;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.sum = input.a + input.b;
        output.difference = input.a - input.b;
        output.product = input.a * input.b;
        output.negation = -input.a;
    }
}

#include "../include/compute.p4"
