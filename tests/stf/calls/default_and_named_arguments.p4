// Arguments by name in any order, and default values for those that are left out.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

header output_t {
    bit<8> x;
    bit<8> y;
    bit<8> z;
}

bit<8> weigh(in bit<8> value, in bit<8> factor = 2, in bit<8> plus = 0) {
    return value * factor + plus;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.x = weigh(input.a);
        output.y = weigh(plus = 1, value = input.a);
        output.z = weigh(input.a, 3, 2);
    }
}

#include "../include/compute.p4"
