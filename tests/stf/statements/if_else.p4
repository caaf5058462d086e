// Chains of if and else; an else belongs to the nearest if.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
}

header output_t {
    bit<8> x;
    bit<8> y;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.x = 0;
        if (input.a == 1) {
            output.x = 1;
        } else if (input.a == 2) {
            output.x = 2;
        } else if (input.b == 0) {
            output.x = 3;
        }
        output.y = 9;
        if (input.a < 10)
            if (input.b < 10)
                output.y = 1;
            else
                output.y = 2;
    }
}

#include "../include/compute.p4"
