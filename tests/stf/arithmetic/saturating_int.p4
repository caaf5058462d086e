// Saturating operations on int<W> stop at -2^(W-1) and at 2^(W-1)-1.

#include <v1model.p4>

header input_t {
    int<8> a;
    int<8> b;
    int<4> c;
    int<4> d;
}

header output_t {
    int<8> sum;
    int<8> difference;
    int<4> small_sum;
    int<4> small_difference;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.sum = input.a |+| input.b;
        output.difference = input.a |-| input.b;
        output.small_sum = input.c |+| input.d;
        output.small_difference = input.c |-| input.d;
    }
}

#include "../include/compute.p4"
