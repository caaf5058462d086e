// The larger and the smaller of two numbers by a conditional expression, at 65 and 128 bits, unsigned and signed.

#include <v1model.p4>

header input_t {
    bit<65> a;
    bit<65> b;
    bit<128> c;
    bit<128> d;
    int<128> e;
    int<128> f;
    bit<6> pad;
}

header output_t {
    bit<65> larger_65;
    bit<65> smaller_65;
    bit<128> larger;
    bit<128> smaller;
    int<128> larger_signed;
    int<128> smaller_signed;
    bit<6> pad;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.larger_65 = input.a > input.b ? input.a : input.b;
        output.smaller_65 = input.b < input.a ? input.b : input.a;
        output.larger = input.c >= input.d ? input.c : input.d;
        output.smaller = input.c <= input.d ? input.c : input.d;
        output.larger_signed = input.e < input.f ? input.f : input.e;
        output.smaller_signed = input.e > input.f ? input.f : input.e;
        output.pad = 0;
    }
}

#include "../include/compute.p4"
