// A serializable enum of a signed type keeps its sign when it is cast.

#include <v1model.p4>

enum int<4> level_t {
    low = -8,
    middle = 0,
    high = 7
}

header input_t {
    level_t level;
    int<4> other;
}

header output_t {
    int<8> value;
    bool below;
    bool is_low;
    bit<6> pad;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.value = (int<8>)(int<4>)input.level;
        output.below = input.level < input.other;
        output.is_low = input.level == level_t.low;
        output.pad = 0;
    }
}

#include "../include/compute.p4"
