// Slices of header fields that do not begin at a byte, of both header and local variable.

#include <v1model.p4>

header input_t {
    bit<3> pad;
    bit<13> a;
    int<9> b;
    bit<7> rest;
}

header output_t {
    bit<3> pad;
    bit<13> a;
    int<9> b;
    bit<7> rest;
}

control Test(in input_t input, inout output_t output) {
    apply {
        bit<13> local = input.a;
        local[12:12] = 1;
        local[0:0] = input.b[8:8];
        output.pad = input.pad;
        output.a = local;
        output.b = input.b;
        output.b[8:8] = 0;
        output.b[3:1] = 3w5;
        output.rest = input.rest;
        output.rest[6:4] = input.a[2:0];
    }
}

#include "../include/compute.p4"
