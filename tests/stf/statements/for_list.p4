// for in a list of values.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

header output_t {
    bit<8> sum;
    bit<8> found;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.sum = 0;
        output.found = 0;
        for (bit<8> x in (list<bit<8>>){ 2, 3, 5, 7, 11, 13 }) {
            output.sum = output.sum + x;
            if (x == input.a) {
                output.found = 1;
            }
        }
    }
}

#include "../include/compute.p4"
