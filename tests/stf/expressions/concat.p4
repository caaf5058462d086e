// Concatenation puts the left operand on top; the sign of the left operand decides the sign of the result.

#include <v1model.p4>

header input_t {
    bit<4> a;
    int<8> b;
    bit<4> c;
}

header output_t {
    bit<16> abc;
    int<12> signed_left;
    bool sign;
    bit<3> pad;
    bit<24> nested;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.abc = input.a ++ input.b ++ input.c;
        output.signed_left = input.b ++ input.a;
        output.sign = (input.b ++ input.a) < 0;
        output.pad = 0;
        output.nested = (input.a ++ input.c) ++ (bit<16>)(input.b ++ 8w0x5A);
    }
}

#include "../include/compute.p4"
