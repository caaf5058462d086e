// Comments of both kinds, also inside expressions, with what looks like strings and other comments in them.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

header output_t {
    bit<8> x;
}

/* A comment
   over lines, with // and "quotes" in it */
const bit<8> A = /* between */ 5; // until the end, even with /* in it
/**/ const bit<8> B = 6; /* a * b / c **/

control Test(in input_t input, inout output_t output) {
    apply {
        output.x = input.a /* plus */ + A // and
                + B;
    }
}

#include "../include/compute.p4"
