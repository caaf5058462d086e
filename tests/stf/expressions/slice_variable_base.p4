// [low +: width] with a base from the packet; bits beyond the width read as 0 and are not written.

#include <v1model.p4>

header input_t {
    bit<16> a;
    bit<8> low;
}

header output_t {
    bit<4> read;
    bit<4> pad;
    bit<16> written;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.read = input.a[input.low+:4];
        output.pad = 0;
        output.written = input.a;
        output.written[input.low+:4] = 4w0b1010;
    }
}

#include "../include/compute.p4"
