// Arithmetic around 128 bits.

#include <v1model.p4>

header input_t {
    bit<127> a127;
    bit<127> b127;
    bit<128> a128;
    bit<128> b128;
    bit<129> a129;
    bit<129> b129;
}

header output_t {
    bit<127> sum127;
    bit<127> difference127;
    bit<127> product127;
    bit<128> sum128;
    bit<128> difference128;
    bit<128> product128;
    bit<129> sum129;
    bit<129> difference129;
    bit<129> product129;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.sum127 = input.a127 + input.b127;
        output.difference127 = input.a127 - input.b127;
        output.product127 = input.a127 * input.b127;
        output.sum128 = input.a128 + input.b128;
        output.difference128 = input.a128 - input.b128;
        output.product128 = input.a128 * input.b128;
        output.sum129 = input.a129 + input.b129;
        output.difference129 = input.a129 - input.b129;
        output.product129 = input.a129 * input.b129;
    }
}

#include "../include/compute.p4"
