// Several initialisations and updates, separated by commas.

#include <v1model.p4>

header input_t {
    bit<8> n;
}

header output_t {
    bit<8> x;
    bit<8> y;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.x = 0;
        output.y = 0;
        for (bit<8> i = 0, bit<8> j = input.n; i < j; i = i + 1, j = j - 1) {
            output.x = i;
            output.y = j;
        }
    }
}

#include "../include/compute.p4"
