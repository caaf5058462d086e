// Slices of bit<W> and int<W> are unsigned; both ends are included.

#include <v1model.p4>

header input_t {
    bit<16> a;
    int<12> b;
    bit<4> pad;
}

header output_t {
    bit<4> high;
    bit<7> middle;
    bit<1> low;
    bit<1> one;
    bit<3> signed_top;
    bit<16> whole;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.high = input.a[15:12];
        output.middle = input.a[10:4];
        output.low = input.a[0:0];
        output.one = input.a[7:7];
        output.signed_top = input.b[11:9];
        output.whole = input.a[15:0];
    }
}

#include "../include/compute.p4"
