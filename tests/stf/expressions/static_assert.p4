// static_assert holds at compile time, with and without a message, as a statement of a constant.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

header output_t {
    bit<8> x;
}

const bit<8> SIZE = 4;
const bool CHECKED = static_assert(SIZE * 2 == 8, "the size is four");
const bool ALSO_CHECKED = static_assert(SIZE < 5 && CHECKED);

control Test(in input_t input, inout output_t output) {
    apply {
        output.x = input.a + SIZE;
    }
}

#include "../include/compute.p4"
