// Functions of one name with different numbers of parameters.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
}

header output_t {
    bit<8> x;
    bit<8> y;
    bit<8> z;
}

bit<8> total(in bit<8> a) {
    return a;
}

bit<8> total(in bit<8> a, in bit<8> b) {
    return a + b;
}

bit<8> total(in bit<8> a, in bit<8> b, in bit<8> c) {
    return total(total(a, b), c);
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.x = total(input.a);
        output.y = total(input.a, input.b);
        output.z = total(input.a, input.b, 1);
    }
}

#include "../include/compute.p4"
