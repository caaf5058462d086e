// return inside two nested loops leaves the function.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

header output_t {
    bit<8> x;
    bit<8> y;
}

struct pair_t {
    bit<8> x;
    bit<8> y;
}

// The first two factors from 2 to 15 whose product, modulo 256, is the value.
pair_t factor(in bit<8> value) {
    for (bit<8> x in 8w2 .. 15) {
        for (bit<8> y in x .. 15) {
            if (x * y == value) {
                return { x, y };
            }
        }
    }
    return { 0, 0 };
}

control Test(in input_t input, inout output_t output) {
    apply {
        pair_t pair = factor(input.a);
        output.x = pair.x;
        output.y = pair.y;
    }
}

#include "../include/compute.p4"
