// The conditional operator chooses values of any type, and nests to the right.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
}

header output_t {
    bit<8> x;
    bit<16> y;
    bit<8> z;
}

struct pair_t {
    bit<8> first;
    bit<8> second;
}

control Test(in input_t input, inout output_t output) {
    apply {
        pair_t chosen = input.a == input.b ? (pair_t){ 1, 2 } : (pair_t){ input.a, input.b };
        output.x = input.a > 100 ? 8w3 : input.a > 50 ? 8w2 : 8w1;
        output.y = chosen.first ++ chosen.second;
        output.z = (input.a < input.b ? input.a : input.b) + 1;
    }
}

#include "../include/compute.p4"
