// Casts in a row: each one truncates or extends before the next one.

#include <v1model.p4>

header input_t {
    bit<16> a;
    int<16> b;
}

header output_t {
    bit<16> x;
    bit<16> y;
    int<32> z;
    bit<8> w;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.x = (bit<16>)(int<16>)(int<4>)(bit<4>)input.a;
        output.y = (bit<16>)(bit<3>)input.a;
        output.z = (int<32>)(int<5>)input.b;
        output.w = (bit<8>)(int<8>)(int<1>)(bit<1>)(input.b < 0);
    }
}

#include "../include/compute.p4"
