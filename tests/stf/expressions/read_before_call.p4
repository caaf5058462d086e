// An operand that was read before a call keeps the value that it had.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

header output_t {
    bit<8> sum;
    bit<8> product;
    bit<8> x;
}

bit<8> double(inout bit<8> value) {
    value = value << 1;
    return value;
}

control Test(in input_t input, inout output_t output) {
    apply {
        bit<8> x = input.a;
        output.sum = x + double(x);
        output.product = (x - 1) * double(x);
        output.x = x;
    }
}

#include "../include/compute.p4"
