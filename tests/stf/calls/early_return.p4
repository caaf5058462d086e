// A function returns from inside conditions and loops; out parameters are copied out then too.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

header output_t {
    bit<8> code;
    bit<8> left;
}

bit<8> classify(in bit<8> value, out bit<8> left) {
    left = 1;
    if (value == 0) {
        return 0;
    } else if (value < 10) {
        left = 2;
        return 1;
    }
    for (bit<8> i in 8w8 .. 15) {
        if (value >> 4 == i) {
            left = i;
            return 2;
        }
    }
    left = 0xEE;
    return 3;
}

control Test(in input_t input, inout output_t output) {
    apply {
        bit<8> left;
        output.code = classify(input.a, left);
        output.left = left;
    }
}

#include "../include/compute.p4"
