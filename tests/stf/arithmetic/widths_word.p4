// Arithmetic just below and above the widths of machine words.

#include <v1model.p4>

header input_t {
    bit<31> a31;
    bit<31> b31;
    bit<33> a33;
    bit<33> b33;
    bit<63> a63;
    bit<63> b63;
    bit<65> a65;
    bit<65> b65;
}

header output_t {
    bit<31> sum31;
    bit<31> difference31;
    bit<31> product31;
    bit<33> sum33;
    bit<33> difference33;
    bit<33> product33;
    bit<63> sum63;
    bit<63> difference63;
    bit<63> product63;
    bit<65> sum65;
    bit<65> difference65;
    bit<65> product65;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.sum31 = input.a31 + input.b31;
        output.difference31 = input.a31 - input.b31;
        output.product31 = input.a31 * input.b31;
        output.sum33 = input.a33 + input.b33;
        output.difference33 = input.a33 - input.b33;
        output.product33 = input.a33 * input.b33;
        output.sum63 = input.a63 + input.b63;
        output.difference63 = input.a63 - input.b63;
        output.product63 = input.a63 * input.b63;
        output.sum65 = input.a65 + input.b65;
        output.difference65 = input.a65 - input.b65;
        output.product65 = input.a65 * input.b65;
    }
}

#include "../include/compute.p4"
