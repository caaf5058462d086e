// return in an action ends the action alone, with copy-out; the control goes on.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

header output_t {
    bit<8> x;
    bit<8> y;
}

control Test(in input_t input, inout output_t output) {
    action halve(inout bit<8> value) {
        if (value < 10) {
            return;
        }
        value = value >> 1;
    }

    apply {
        bit<8> x = input.a;
        halve(x);
        output.x = x;
        output.y = x + 1;
    }
}

#include "../include/compute.p4"
