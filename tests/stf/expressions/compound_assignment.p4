// Every compound assignment computes with the old value and stores in the same place.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
}

header output_t {
    bit<8> v0;
    bit<8> v1;
    bit<8> v2;
    bit<8> v3;
    bit<8> v4;
    bit<8> v5;
    bit<8> v6;
    bit<8> v7;
    bit<8> v8;
    bit<8> v9;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.v0 = input.a;
        output.v0 += input.b;
        output.v1 = input.a;
        output.v1 -= input.b;
        output.v2 = input.a;
        output.v2 *= input.b;
        output.v3 = input.a;
        output.v3 |+|= input.b;
        output.v4 = input.a;
        output.v4 |-|= input.b;
        output.v5 = input.a;
        output.v5 &= input.b;
        output.v6 = input.a;
        output.v6 |= input.b;
        output.v7 = input.a;
        output.v7 ^= input.b;
        output.v8 = input.a;
        output.v8 <<= input.b;
        output.v9 = input.a;
        output.v9 >>= 2;
        output.v9[7:4] |= 4w9;
    }
}

#include "../include/compute.p4"
