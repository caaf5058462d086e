// Arguments are evaluated from left to right, each saved before the next one runs.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

header output_t {
    bit<8> first;
    bit<8> second;
    bit<8> third;
    bit<8> x;
}

bit<8> next(inout bit<8> value) {
    value = value + 1;
    return value;
}

void note(in bit<8> a, in bit<8> b, in bit<8> c, out bit<8> x, out bit<8> y, out bit<8> z) {
    x = a;
    y = b;
    z = c;
}

control Test(in input_t input, inout output_t output) {
    apply {
        bit<8> x = input.a;
        bit<8> first;
        bit<8> second;
        bit<8> third;
        note(x, next(x), x, first, second, third);
        output.first = first;
        output.second = second;
        output.third = third;
        output.x = x;
    }
}

#include "../include/compute.p4"
