// Lists are equal when their elements are, also where a number without width stands beside a value with one.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
}

header output_t {
    bit<8> crossed;
    bit<8> in_line;
    bit<8> differs;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.crossed = { input.a, 1 } == { 1, input.b } ? 8w1 : 8w0;
        output.in_line = { input.a, 1 } == { input.b, 1 } ? 8w1 : 8w0;
        output.differs = { 200, input.a } != { input.b, 2 } ? 8w1 : 8w0;
    }
}

#include "../include/compute.p4"
