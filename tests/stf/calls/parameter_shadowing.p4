// Parameters and variables hide those outside with the same name, in functions, actions and blocks.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

header output_t {
    bit<8> x;
    bit<8> y;
}

const bit<8> VALUE = 100;

bit<8> twice(in bit<8> value) {
    return value * 2;
}

control Test(in input_t input, inout output_t output) {
    action store(bit<8> value) {
        output.x = twice(value);
    }

    apply {
        bit<8> value = input.a;
        store(value + 1);
        output.y = value + VALUE;
    }
}

#include "../include/compute.p4"
