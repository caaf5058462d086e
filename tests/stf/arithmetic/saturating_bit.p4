// Saturating operations on bit<W> stop at 0 and at 2^W-1.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
    bit<3> c;
    bit<3> d;
    bit<2> pad;
}

header output_t {
    bit<8> sum;
    bit<8> difference;
    bit<3> small_sum;
    bit<3> small_difference;
    bit<2> pad;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.sum = input.a |+| input.b;
        output.difference = input.a |-| input.b;
        output.small_sum = input.c |+| input.d;
        output.small_difference = input.c |-| input.d;
        output.pad = input.pad;
    }
}

#include "../include/compute.p4"
