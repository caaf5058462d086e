// Comparisons of bit<W> are unsigned: 0x80 is larger than 0x7F.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
}

header output_t {
    bool lt;
    bool le;
    bool gt;
    bool ge;
    bool eq;
    bool ne;
    bit<2> pad;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.lt = input.a < input.b;
        output.le = input.a <= input.b;
        output.gt = input.a > input.b;
        output.ge = input.a >= input.b;
        output.eq = input.a == input.b;
        output.ne = input.a != input.b;
        output.pad = 0;
    }
}

#include "../include/compute.p4"
