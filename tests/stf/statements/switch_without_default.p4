// A switch without default does nothing when no label matches; a last label without a block is an empty block.

#include <v1model.p4>

header input_t {
    int<8> a;
}

header output_t {
    bit<8> x;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.x = 1;
        switch (input.a - 1) {
            -1: { output.x = 2; }
            5: { output.x = 3; }
            -128:
        }
    }
}

#include "../include/compute.p4"
