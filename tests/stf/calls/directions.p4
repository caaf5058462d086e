// in, out and inout parameters of an action called from the control.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
}

header output_t {
    bit<8> a;
    bit<8> b;
    bit<8> sum;
}

control Test(in input_t input, inout output_t output) {
    action exchange(inout bit<8> x, inout bit<8> y, out bit<8> sum, bit<8> plus) {
        sum = x + y;
        bit<8> old = x;
        x = y + plus;
        y = old + plus;
    }

    apply {
        bit<8> x = input.a;
        bit<8> y = input.b;
        bit<8> sum = 99;
        exchange(x, y, sum, 5);
        output.a = x;
        output.b = y;
        output.sum = sum;
    }
}

#include "../include/compute.p4"
