// Unsigned and signed comparison at 65, 127 and 129 bits, where the deciding bit is the top one.

#include <v1model.p4>

header input_t {
    bit<65> a;
    bit<65> b;
    bit<127> c;
    bit<127> d;
    int<129> e;
    int<129> f;
    bit<6> pad;
}

header output_t {
    bool a_lt_b;
    bool c_lt_d;
    bool e_lt_f;
    bool e_ge_f;
    bit<4> pad;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.a_lt_b = input.a < input.b;
        output.c_lt_d = input.c < input.d;
        output.e_lt_f = input.e < input.f;
        output.e_ge_f = input.e >= input.f;
        output.pad = 0;
    }
}

#include "../include/compute.p4"
