// A for loop with three clauses: the condition is checked first, the update runs after the body.

#include <v1model.p4>

header input_t {
    bit<8> n;
}

header output_t {
    bit<8> sum;
    bit<8> rounds;
    bit<8> last;
}

control Test(in input_t input, inout output_t output) {
    apply {
        bit<8> sum = 0;
        bit<8> rounds = 0;
        bit<8> i;
        for (i = 0; i < input.n; i = i + 1) {
            sum = sum + i;
            rounds = rounds + 1;
        }
        output.sum = sum;
        output.rounds = rounds;
        output.last = i;
    }
}

#include "../include/compute.p4"
