// A loop in an action, with a variable of the loop that hides an outer one.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

header output_t {
    bit<8> bits_;
    bit<8> i;
}

control Test(in input_t input, inout output_t output) {
    action count_ones(bit<8> value) {
        bit<8> ones = 0;
        for (bit<8> i in 8w0 .. 7) {
            ones = ones + (value >> i & 1);
        }
        output.bits_ = ones;
    }

    apply {
        bit<8> i = 0x5A;
        count_ones(input.a);
        output.i = i;
    }
}

#include "../include/compute.p4"
