// A generic function, with inferred and with explicit type arguments.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<16> b;
}

header output_t {
    bit<8> x;
    bit<16> y;
    bit<8> z;
}

struct pair_t {
    bit<8> first;
    bit<8> second;
}

T choose<T>(in bool condition, in T yes, in T no) {
    if (condition) {
        return yes;
    }
    return no;
}

control Test(in input_t input, inout output_t output) {
    apply {
        pair_t one = { 1, 2 };
        pair_t other = { 3, 4 };
        output.x = choose(input.a > 5, input.a, 8w5);
        output.y = choose<bit<16>>(input.a > 5, input.b, 5);
        output.z = choose(input.a > 5, one, other).first;
    }
}

#include "../include/compute.p4"
