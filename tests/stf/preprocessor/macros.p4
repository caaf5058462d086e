// Macros of both kinds, with arguments, nested, over several lines, undefined and defined anew.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
}

header output_t {
    bit<8> x;
    bit<8> y;
}

#define WIDTH 8
#define BYTE bit<WIDTH>
#define MAXIMUM(a, b) ((a) > (b) ? (a) : (b))
#define SUM_OF_THREE(a, b, c) \
    ((a) + (b) + \
     (c))
#undef WIDTH
#define WIDTH 8

control Test(in input_t input, inout output_t output) {
    apply {
        BYTE local = MAXIMUM(input.a, input.b + 1);
        output.x = SUM_OF_THREE(local, MAXIMUM(1, 2), 3);
        output.y = MAXIMUM(MAXIMUM(input.a, input.b), 50);
    }
}

#include "../include/compute.p4"
