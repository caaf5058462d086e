// An action calls another one; local variables of both are their own.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

header output_t {
    bit<8> x;
    bit<8> y;
}

control Test(in input_t input, inout output_t output) {
    bit<8> y = 0;

    action inner(in bit<8> value, out bit<8> result) {
        bit<8> local = value * 2;
        result = local;
        y = local;
    }

    action outer(bit<8> value) {
        bit<8> local = value + 1;
        bit<8> result;
        inner(value, result);
        output.x = local + result;
    }

    apply {
        outer(input.a);
        output.y = y;
    }
}

#include "../include/compute.p4"
