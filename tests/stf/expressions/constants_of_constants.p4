// Constants made of other constants, of structures and of conditional expressions.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

header output_t {
    bit<8> x;
    bit<16> y;
    bit<8> z;
}

struct limits_t {
    bit<8> low;
    bit<8> high;
}

const limits_t LIMITS = { high = 200, low = 10 };
const bit<16> WIDE = LIMITS.low ++ LIMITS.high;
const bool LARGE = WIDE > 2000 && LIMITS.high != LIMITS.low;

control Test(in input_t input, inout output_t output) {
    apply {
        output.x = input.a + LIMITS.low;
        output.y = WIDE;
        output.z = LARGE ? LIMITS.high : LIMITS.low;
    }
}

#include "../include/compute.p4"
