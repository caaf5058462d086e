// Casts between bit and int of one width keep all bits; two casts tell zero from sign extension.

#include <v1model.p4>

header input_t {
    bit<8> a;
    int<8> b;
}

header output_t {
    bool as_int;
    bit<7> pad;
    bit<16> sign;
    bit<16> zero;
    bit<8> back;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.as_int = (int<8>)input.a < 0;
        output.pad = 0;
        output.sign = (bit<16>)(int<16>)input.b;
        output.zero = (bit<16>)(bit<8>)input.b;
        output.back = (bit<8>)(int<8>)input.a;
    }
}

#include "../include/compute.p4"
