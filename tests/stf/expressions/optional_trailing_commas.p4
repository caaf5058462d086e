// Lists may end in a comma: enumerations, arguments, tuples, parameters.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

header output_t {
    bit<8> x;
}

enum kind_t {
    one,
    two,
}

bit<8> add(in bit<8> a, in bit<8> b) {
    return a + b;
}

control Test(in input_t input, inout output_t output) {
    apply {
        tuple<bit<8>, bit<8>> t = { input.a, 2, };
        output.x = add(t[0], t[1]);
    }
}

#include "../include/compute.p4"
