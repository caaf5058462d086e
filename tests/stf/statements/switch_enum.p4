// A switch on enumerations, with and without representation.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
}

header output_t {
    bit<8> x;
    bit<8> y;
}

enum kind_t { small, medium, large }

enum bit<8> code_t {
    zero = 0,
    two = 2,
    five = 5
}

control Test(in input_t input, inout output_t output) {
    apply {
        kind_t kind = input.a < 5 ? kind_t.small : input.a < 50 ? kind_t.medium : kind_t.large;
        switch (kind) {
            kind_t.small: { output.x = 1; }
            kind_t.large: { output.x = 3; }
            default: { output.x = 9; }
        }
        output.y = 0;
        switch ((code_t)input.b) {
            code_t.zero:
            code_t.two: { output.y = 0x10; }
            code_t.five: { output.y = 0x15; }
        }
    }
}

#include "../include/compute.p4"
