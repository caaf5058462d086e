// return in a control ends this control, not its caller; inout parameters are copied out.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

header output_t {
    bit<8> x;
    bit<8> after;
}

control Limit(inout bit<8> value) {
    apply {
        if (value < 100) {
            value = value + 1;
            return;
        }
        value = 100;
    }
}

control Test(in input_t input, inout output_t output) {
    Limit() limit;

    apply {
        bit<8> x = input.a;
        limit.apply(x);
        output.x = x;
        output.after = 0x77;
    }
}

#include "../include/compute.p4"
