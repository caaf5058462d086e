// A switch in a function and in an action, with a return inside.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

header output_t {
    bit<8> x;
    bit<8> y;
}

bit<8> name(in bit<8> value) {
    switch (value) {
        1: { return 0x11; }
        2: { return 0x22; }
    }
    return 0xFF;
}

control Test(in input_t input, inout output_t output) {
    action choose(bit<8> value) {
        switch (value) {
            1:
            2: { output.y = 7; }
            default: { output.y = 8; }
        }
    }

    apply {
        output.x = name(input.a);
        choose(input.a);
    }
}

#include "../include/compute.p4"
