// Shifts by constants, smaller than, equal to and larger than the width, of 16, 33 and 128 bits.

#include <v1model.p4>

header input_t {
    bit<16> a;
    bit<33> b;
    int<128> c;
    bit<7> pad;
}

header output_t {
    bit<16> a_left;
    bit<16> a_right;
    bit<16> a_gone;
    bit<33> b_left;
    bit<33> b_right;
    int<128> c_left;
    int<128> c_right;
    int<128> c_sign;
    bit<6> pad;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.a_left = input.a << 5;
        output.a_right = input.a >> 15;
        output.a_gone = input.a << 16;
        output.b_left = input.b << 32;
        output.b_right = input.b >> 31;
        output.c_left = input.c << 65;
        output.c_right = input.c >> 65;
        output.c_sign = input.c >> 1000;
        output.pad = 0;
    }
}

#include "../include/compute.p4"
