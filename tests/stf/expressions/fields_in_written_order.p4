// The fields of a structure-valued expression are evaluated in the order in which they are written.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

header output_t {
    bit<8> first;
    bit<8> second;
    bit<8> third;
}

struct pair_t {
    bit<8> left;
    bit<8> right;
}

bit<8> next(inout bit<8> value) {
    value = value + 1;
    return value;
}

control Test(in input_t input, inout output_t output) {
    apply {
        bit<8> count = input.a;
        pair_t pair = { right = next(count), left = next(count) };
        output = { third = next(count), first = pair.left, second = pair.right };
    }
}

#include "../include/compute.p4"
