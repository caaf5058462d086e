// A switch on a value: labels fall through to the next block, not out of it; default for the rest.

#include <v1model.p4>

header input_t {
    bit<16> a;
}

header output_t {
    bit<8> x;
    bit<8> count;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.count = 0;
        output.x = 0;
        switch (input.a) {
            0x0800: { output.x = 4; output.count = output.count + 1; }
            0x86DD:
            0x86DE: { output.x = 6; output.count = output.count + 1; }
            0: { }
            0xFFFF:
            default: { output.x = 0xFF; output.count = output.count + 1; }
        }
    }
}

#include "../include/compute.p4"
