// And, or, xor and complement, also on signed integers and at odd widths.

#include <v1model.p4>

header input_t {
    bit<13> a;
    bit<13> b;
    int<11> c;
    int<11> d;
}

header output_t {
    bit<13> and_;
    bit<13> or_;
    bit<13> xor_;
    bit<13> not_;
    int<11> iand;
    int<11> ior;
    int<11> ixor;
    int<11> inot;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.and_ = input.a & input.b;
        output.or_ = input.a | input.b;
        output.xor_ = input.a ^ input.b;
        output.not_ = ~input.a;
        output.iand = input.c & input.d;
        output.ior = input.c | input.d;
        output.ixor = input.c ^ input.d;
        output.inot = ~input.c;
    }
}

#include "../include/compute.p4"
