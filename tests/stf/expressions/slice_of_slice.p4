// A slice of a slice counts from the end of the inner one, to read and to write.

#include <v1model.p4>

header input_t {
    bit<32> a;
    bit<4> b;
    bit<4> pad;
}

header output_t {
    bit<4> read;
    bit<4> pad;
    bit<32> written;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.read = input.a[27:8][11:8];
        output.pad = 0;
        output.written = input.a;
        output.written[27:8][11:8] = input.b;
    }
}

#include "../include/compute.p4"
