// A backslash at the end of a line joins it to the next one, also within a name, a number or an operator.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

header output_t {
    bit<8> x;
    bit<8> y;
}

#define A_LONG_NAME_THAT_DOES_NOT_FIT_\
ON_A_LINE 4

control Test(in input_t input, inout output_t output) {
    apply {
        output.x = input.a + A_LONG_NAME_THAT_DOES_NOT_FIT_ON_A_LINE;
        output.y = input.a <\
< 0x0\
2;
    }
}

#include "../include/compute.p4"
