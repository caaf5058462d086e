// Two instances of one control with different constructor arguments, also nested.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

header output_t {
    bit<8> x;
    bit<8> y;
    bit<8> z;
}

control Add(in bit<8> value, out bit<8> sum)(bit<8> amount) {
    apply {
        sum = value + amount;
    }
}

control AddTwice(in bit<8> value, out bit<8> sum)(bit<8> amount) {
    Add(amount) first;
    Add(100) second;

    apply {
        bit<8> between;
        first.apply(value, between);
        second.apply(between, sum);
    }
}

control Test(in input_t input, inout output_t output) {
    Add(1) by_one;
    Add(10) by_ten;
    AddTwice(3) nested;

    apply {
        by_one.apply(input.a, output.x);
        by_ten.apply(input.a, output.y);
        nested.apply(input.a, output.z);
    }
}

#include "../include/compute.p4"
