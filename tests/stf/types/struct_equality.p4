// Structures are equal when all their fields are, whatever their order in the initialiser.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
}

header output_t {
    bool same;
    bool other;
    bool literal;
    bool nested;
    bit<4> pad;
}

struct pair_t {
    bit<8> first;
    bit<8> second;
}

struct nested_t {
    pair_t pair;
    bool flag;
}

control Test(in input_t input, inout output_t output) {
    apply {
        pair_t x = { input.a, input.b };
        pair_t y = { second = input.b, first = input.a };
        nested_t n = { x, true };
        output.same = x == y;
        output.other = x != (pair_t){ input.b, input.a };
        output.literal = x == (pair_t){ second = 2, first = 1 };
        output.nested = n == (nested_t){ flag = input.a != 0, pair = y };
        output.pad = 0;
    }
}

#include "../include/compute.p4"
