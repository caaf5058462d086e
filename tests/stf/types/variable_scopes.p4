// A variable of an inner block hides nothing outside it, and begins anew each time.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

header output_t {
    bit<8> x;
    bit<8> y;
}

control Test(in input_t input, inout output_t output) {
    apply {
        bit<8> x = input.a;
        {
            bit<8> y = x + 1;
            x = y * 2;
        }
        if (x > 10) {
            bit<8> y = 5;
            x = x + y;
        } else {
            bit<16> y = 0x0102;
            x = x + y[7:0];
        }
        output.x = x;
        output.y = input.a;
    }
}

#include "../include/compute.p4"
