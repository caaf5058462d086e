// A slice of a slice with a base from the packet: the sum of both places may need more bits than the base has.

#include <v1model.p4>

header input_t {
    bit<32> a;
    bit<3> low;
    bit<5> pad;
}

header output_t {
    bit<8> read;
    bit<32> written;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.read = (bit<8>) input.a[input.low+:16][11:8];
        output.written = 0;
        output.written[input.low+:16][11:8] = 0xF;
    }
}

#include "../include/compute.p4"
