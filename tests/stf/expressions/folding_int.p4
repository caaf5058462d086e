// Signed constants fold as they are computed at run time: wrap, saturate, shift, compare.

#include <v1model.p4>

header input_t {
    int<8> a;
    int<8> b;
}

header output_t {
    int<56> folded;
    bool folded_lt;
    bit<7> pad;
    int<56> computed;
    bool computed_lt;
    bit<7> pad2;
}

const int<8> A = -100;
const int<8> B = -90;

control Test(in input_t input, inout output_t output) {
    apply {
        output.folded = (A + B) ++ (A - B) ++ (A * B) ++ (A |+| B) ++ (A |-| -B) ++ (A >> 3) ++ (A << 1);
        output.folded_lt = A < B;
        output.pad = 0;
        output.computed = (input.a + input.b) ++ (input.a - input.b) ++ (input.a * input.b) ++ (input.a |+| input.b)
                ++ (input.a |-| -input.b) ++ (input.a >> 3) ++ (input.a << 1);
        output.computed_lt = input.a < input.b;
        output.pad2 = 0;
    }
}

#include "../include/compute.p4"
