// Bitwise operators bind tighter than comparisons; shifts and concatenation as the specification has them.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
}

header output_t {
    bool mask_then_compare;
    bit<8> product_first;
    bit<8> shift_after_sum;
    bit<8> and_before_xor;
    bit<8> ternary;
    bit<7> pad;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.mask_then_compare = input.a & 0x0f == input.b & 0x0f;
        output.product_first = input.a + input.b * 3 - 1;
        output.shift_after_sum = input.a + 1 << 2;
        output.and_before_xor = input.a | input.b ^ input.a & 0x3c;
        output.ternary = input.a > input.b ? input.a - input.b : input.b > 100 ? 8w100 : input.b;
        output.pad = 0;
    }
}

#include "../include/compute.p4"
