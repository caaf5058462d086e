// A switch on an error.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

header output_t {
    bit<8> x;
}

error {
    First,
    Second
}

control Test(in input_t input, inout output_t output) {
    apply {
        error e = error.NoError;
        if (input.a == 1) {
            e = error.First;
        } else if (input.a == 2) {
            e = error.Second;
        }
        switch (e) {
            error.NoError: { output.x = 0; }
            error.Second: { output.x = 0x22; }
            default: { output.x = 0xEE; }
        }
    }
}

#include "../include/compute.p4"
