// The right side of an assignment is evaluated before anything is written: fields can be swapped.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
}

header output_t {
    bit<8> a;
    bit<8> b;
    bit<8> c;
    bit<8> d;
}

struct pair_t {
    bit<8> first;
    bit<8> second;
}

struct nested_t {
    pair_t left;
    pair_t right;
}

control Test(in input_t input, inout output_t output) {
    apply {
        pair_t pair = { input.a, input.b };
        pair = { pair.second, pair.first };
        output.a = pair.first;
        output.b = pair.second;
        nested_t nested = { pair, { 1, 2 } };
        nested = { nested.right, nested.left };
        output.c = nested.left.second;
        output.d = nested.right.first;
    }
}

#include "../include/compute.p4"
