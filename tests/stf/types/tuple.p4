// Tuples are built, copied, indexed and compared; a structure can be initialised from a tuple expression.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<16> b;
}

header output_t {
    bit<8> x;
    bit<16> y;
    bool equal;
    bool different;
    bit<6> pad;
}

control Test(in input_t input, inout output_t output) {
    apply {
        tuple<bit<8>, bit<16>> t = { input.a, input.b };
        tuple<bit<8>, bit<16>> u = t;
        tuple<tuple<bit<8>, bit<16>>, bool> nested = { u, true };
        output.x = u[0] + 1;
        output.y = nested[0][1];
        output.equal = t == u && nested[1];
        output.different = t != { input.a, 16w5 };
        output.pad = 0;
    }
}

#include "../include/compute.p4"
