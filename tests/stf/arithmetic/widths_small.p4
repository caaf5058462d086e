// Arithmetic at 3, 5, 7 and 13 bits, in fields that begin and end inside bytes.

#include <v1model.p4>

header input_t {
    bit<3> a3;
    bit<3> b3;
    bit<5> a5;
    bit<5> b5;
    bit<7> a7;
    bit<7> b7;
    bit<13> a13;
    bit<13> b13;
}

header output_t {
    bit<3> sum3;
    bit<3> difference3;
    bit<3> product3;
    bit<5> sum5;
    bit<5> difference5;
    bit<5> product5;
    bit<7> sum7;
    bit<7> difference7;
    bit<7> product7;
    bit<13> sum13;
    bit<13> difference13;
    bit<13> product13;
    bit<4> pad;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.sum3 = input.a3 + input.b3;
        output.difference3 = input.a3 - input.b3;
        output.product3 = input.a3 * input.b3;
        output.sum5 = input.a5 + input.b5;
        output.difference5 = input.a5 - input.b5;
        output.product5 = input.a5 * input.b5;
        output.sum7 = input.a7 + input.b7;
        output.difference7 = input.a7 - input.b7;
        output.product7 = input.a7 * input.b7;
        output.sum13 = input.a13 + input.b13;
        output.difference13 = input.a13 - input.b13;
        output.product13 = input.a13 * input.b13;
        output.pad = 0;
    }
}

#include "../include/compute.p4"
