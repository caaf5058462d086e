// An in parameter keeps its value when the variable behind it changes during the call.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

header output_t {
    bit<8> x;
    bit<8> seen;
}

void add(inout bit<8> target, in bit<8> amount, out bit<8> seen) {
    target = target + amount;
    target = target + amount;
    seen = amount;
}

control Test(in input_t input, inout output_t output) {
    apply {
        bit<8> x = input.a;
        bit<8> seen;
        add(x, x, seen);
        output.x = x;
        output.seen = seen;
    }
}

#include "../include/compute.p4"
