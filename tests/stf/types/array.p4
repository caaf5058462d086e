// An array of numbers: elements by constant and by computed index, copied as a whole, visited by a loop.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> i;
}

header output_t {
    bit<8> x;
    bit<8> sum;
    bit<8> copy;
}

control Test(in input_t input, inout output_t output) {
    apply {
        bit<8>[4] values;
        values[0] = input.a;
        values[1] = 10;
        values[2] = 20;
        values[3] = 30;
        bit<8>[4] copy = values;
        if (input.i < 4) {
            values[input.i] = 7;
        }
        output.sum = 0;
        for (bit<8> value in values) {
            output.sum = output.sum + value;
        }
        output.x = values[3];
        output.copy = copy[1] + copy[0];
    }
}

#include "../include/compute.p4"
