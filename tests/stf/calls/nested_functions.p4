// Functions that call functions, with structures as results.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
}

header output_t {
    bit<8> low;
    bit<8> high;
    bit<8> middle;
}

struct range_t {
    bit<8> low;
    bit<8> high;
}

range_t make(in bit<8> low, in bit<8> high) {
    return { low, high };
}

range_t order(in bit<8> x, in bit<8> y) {
    if (x <= y) {
        return make(x, y);
    }
    return make(y, x);
}

bit<8> middle(in range_t range) {
    return range.low + (range.high - range.low >> 1);
}

control Test(in input_t input, inout output_t output) {
    apply {
        range_t range = order(input.a, input.b);
        output.low = range.low;
        output.high = order(input.a, input.b).high;
        output.middle = middle(order(input.b, input.a));
    }
}

#include "../include/compute.p4"
