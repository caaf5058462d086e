// Headers are equal when both are invalid, or both are valid with equal fields.

#include <v1model.p4>

header pair_t {
    bit<8> first;
    bit<8> second;
}

header input_t {
    bit<8> a;
    bit<8> b;
}

header output_t {
    bool both_invalid;
    bool one_invalid;
    bool same;
    bool literal;
    bool is_none;
    bool is_not_none;
    bit<2> pad;
}

control Test(in input_t input, inout output_t output) {
    pair_t x;
    pair_t y;

    apply {
        output.both_invalid = x == y;
        output.is_none = x == (pair_t){#};
        x = { input.a, input.b };
        output.one_invalid = x == y;
        y = { input.b, input.a };
        output.same = x == y;
        output.literal = x == (pair_t){ 1, 2 };
        output.is_not_none = x != (pair_t){#};
        output.pad = 0;
    }
}

#include "../include/compute.p4"
