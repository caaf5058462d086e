// The bounds of a range are evaluated once, before the first round.

#include <v1model.p4>

header input_t {
    bit<8> n;
}

header output_t {
    bit<8> count;
    bit<8> n;
}

control Test(in input_t input, inout output_t output) {
    apply {
        bit<8> n = input.n;
        output.count = 0;
        for (bit<8> i in 8w1 .. n) {
            n = n + 1;
            output.count = output.count + 1;
        }
        output.n = n;
    }
}

#include "../include/compute.p4"
