// Signed arithmetic at 3, 33 and 65 bits: the sign is the top bit of that width.

#include <v1model.p4>

header input_t {
    int<3> a;
    int<3> b;
    int<33> c;
    int<33> d;
    int<65> e;
    int<65> f;
    bit<6> pad;
}

header output_t {
    int<3> p;
    int<33> q;
    int<65> r;
    bool ab;
    bool cd;
    bool ef;
    int<33> s;
    int<65> t;
    int<3> u;
    bit<3> pad;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.p = input.a * input.b;
        output.q = input.c - input.d;
        output.r = input.e * input.f;
        output.ab = input.a < input.b;
        output.cd = input.c < input.d;
        output.ef = input.e < input.f;
        output.s = input.c >> 3;
        output.t = -input.e;
        output.u = -input.a;
        output.pad = 0;
    }
}

#include "../include/compute.p4"
