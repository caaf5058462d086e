// A slice is an inout argument: only its bits are written back.

#include <v1model.p4>

header input_t {
    bit<16> a;
}

header output_t {
    bit<16> a;
}

void increment(inout bit<4> value) {
    value = value + 1;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.a = input.a;
        increment(output.a[7:4]);
        increment(output.a[15:12]);
    }
}

#include "../include/compute.p4"
