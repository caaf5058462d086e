// Operands with side effects are evaluated from left to right.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

header output_t {
    bit<8> difference;
    bit<16> joined;
    bit<8> after;
}

// Changes its argument and gives the new value.
bit<8> step(inout bit<8> value) {
    value = value * 3 + 1;
    return value;
}

control Test(in input_t input, inout output_t output) {
    apply {
        bit<8> x = input.a;
        output.difference = step(x) - step(x);
        output.joined = step(x) ++ x;
        output.after = x;
    }
}

#include "../include/compute.p4"
