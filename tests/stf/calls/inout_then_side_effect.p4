// f(a, g(a)) as in the specification: the first argument keeps the value from before g, and its copy-out wins.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

header output_t {
    bit<8> a;
    bit<8> y;
}

bit<8> g(inout bit<8> z) {
    z = z * 2;
    return z + 1;
}

void f(inout bit<8> x, in bit<8> value, out bit<8> y) {
    x = x + 100;
    y = value;
}

control Test(in input_t input, inout output_t output) {
    apply {
        bit<8> a = input.a;
        bit<8> y;
        f(a, g(a), y);
        output.a = a;
        output.y = y;
    }
}

#include "../include/compute.p4"
