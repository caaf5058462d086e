// break leaves the loop, continue goes to the update.

#include <v1model.p4>

header input_t {
    bit<8> limit;
}

header output_t {
    bit<8> sum;
    bit<8> i;
}

control Test(in input_t input, inout output_t output) {
    apply {
        bit<8> sum = 0;
        bit<8> i;
        for (i = 0; i < 20; i = i + 1) {
            if (i[0:0] == 1) {
                continue;
            }
            if (sum > input.limit) {
                break;
            }
            sum = sum + i;
        }
        output.sum = sum;
        output.i = i;
    }
}

#include "../include/compute.p4"
