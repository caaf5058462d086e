// An argument passed twice as inout is two copies; the copies are written back from left to right.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

header output_t {
    bit<8> x;
    bit<8> first;
    bit<8> second;
}

// Each copy sees only its own change.
void bump_both(inout bit<8> one, inout bit<8> ten, out bit<8> first, out bit<8> second) {
    one = one + 1;
    ten = ten + 10;
    first = one;
    second = ten;
}

control Test(in input_t input, inout output_t output) {
    apply {
        bit<8> x = input.a;
        bit<8> first;
        bit<8> second;
        bump_both(x, x, first, second);
        output.x = x;
        output.first = first;
        output.second = second;
    }
}

#include "../include/compute.p4"
