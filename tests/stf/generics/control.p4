// One generic control type: two controls of it are given to a third as constructor parameters.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

header output_t {
    bit<8> x;
    bit<8> y;
}

control Step(in bit<8> from, out bit<8> to);

control Increment(in bit<8> from, out bit<8> to) {
    apply {
        to = from + 1;
    }
}

control Double(in bit<8> from, out bit<8> to) {
    apply {
        to = from * 2;
    }
}

control Sequence(in bit<8> from, out bit<8> to)(Step first, Step second) {
    apply {
        bit<8> between;
        first.apply(from, between);
        second.apply(between, to);
    }
}

control Test(in input_t input, inout output_t output) {
    Sequence(Increment(), Increment()) twice;
    Sequence(Increment(), Double()) mixed;

    apply {
        twice.apply(input.a, output.x);
        mixed.apply(input.a, output.y);
    }
}

#include "../include/compute.p4"
