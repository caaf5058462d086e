// A header that is written as a list is valid, and what is in the list is evaluated.

#include <v1model.p4>

header input_t {
    bit<8> n;
}

header output_t {
    bit<8> is_valid;
    bit<8> after;
}

header pair_t {
    bit<8> first;
    bit<8> second;
}

bit<8> next(inout bit<8> n) {
    n = n + 1;
    return n;
}

control Test(in input_t input, inout output_t output) {
    apply {
        bit<8> n = input.n;
        if (((pair_t) { next(n), next(n) }).isValid()) {
            output.is_valid = 1;
        }
        output.after = n;
    }
}

#include "../include/compute.p4"
