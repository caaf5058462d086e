// Widths, slice bounds and stack sizes may be constant expressions.

#include <v1model.p4>

header input_t {
    bit<24> a;
}

header output_t {
    bit<24> x;
    bit<5> y;
    bit<3> z;
}

const int W = 8;
const bit<8> HIGH = 19;
const int LOW = W * 2 + 1;

control Test(in input_t input, inout output_t output) {
    apply {
        bit<(W * 2)> doubled = (bit<(W * 2)>)input.a;
        output.x = (bit<24>)doubled;
        output.y = input.a[W - 1:W - 5];
        output.z = input.a[HIGH:LOW];
    }
}

#include "../include/compute.p4"
