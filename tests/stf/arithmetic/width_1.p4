// One-bit values: addition is xor, multiplication is and, int<1> is 0 or -1.

#include <v1model.p4>

header input_t {
    bit<1> a;
    bit<1> b;
    int<1> c;
    int<1> d;
    bit<4> pad;
}

header output_t {
    bit<1> sum;
    bit<1> difference;
    bit<1> product;
    bit<1> negation;
    bool ilt;
    int<1> isum;
    int<1> iright;
    int<5> wide;
    bit<4> pad;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.sum = input.a + input.b;
        output.difference = input.a - input.b;
        output.product = input.a * input.b;
        output.negation = -input.a;
        output.ilt = input.c < input.d;
        output.isum = input.c + input.d;
        output.iright = input.c >> 1;
        output.wide = (int<5>)input.c;
        output.pad = 0;
    }
}

#include "../include/compute.p4"
