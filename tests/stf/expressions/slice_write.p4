// A slice as an l-value changes its bits and no others, also across byte and word boundaries.

#include <v1model.p4>

header input_t {
    bit<96> a;
    bit<8> b;
}

header output_t {
    bit<96> whole;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.whole = input.a;
        output.whole[3:0] = input.b[7:4];
        output.whole[70:63] = input.b;
        output.whole[95:95] = ~input.a[95:95];
    }
}

#include "../include/compute.p4"
