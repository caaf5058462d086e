// Signed addition, subtraction, multiplication and negation wrap around in two's complement.

#include <v1model.p4>

header input_t {
    int<8> a;
    int<8> b;
}

header output_t {
    int<8> sum;
    int<8> difference;
    int<8> product;
    int<8> negation;
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
