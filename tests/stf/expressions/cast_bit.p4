// Casts between widths of bit: widening pads with zeros, narrowing drops the top.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<40> b;
}

header output_t {
    bit<40> wide;
    bit<8> narrow;
    bit<3> narrower;
    bit<13> odd;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.wide = (bit<40>)input.a;
        output.narrow = (bit<8>)input.b;
        output.narrower = (bit<3>)input.b;
        output.odd = (bit<13>)input.a;
    }
}

#include "../include/compute.p4"
