// All elements of a list are evaluated where one of them is taken by its index.

#include <v1model.p4>

header input_t {
    bit<8> n;
}

header output_t {
    bit<8> first;
    bit<8> second;
    bit<8> after;
}

bit<8> next(inout bit<8> n) {
    n = n + 1;
    return n;
}

control Test(in input_t input, inout output_t output) {
    apply {
        bit<8> n = input.n;
        output.first = ((bit<8>[2]) { next(n), next(n) })[0];
        output.second = ((bit<8>[2]) { next(n), next(n) })[1];
        output.after = n;
    }
}

#include "../include/compute.p4"
