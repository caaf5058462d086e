// A header as inout argument is copied with its validity, both ways.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

header output_t {
    bool valid_before;
    bool valid_after;
    bit<6> pad;
    bit<8> value;
}

header byte_t {
    bit<8> value;
}

void fill(inout byte_t byte, in bit<8> value) {
    byte.setValid();
    byte.value = value;
    if (value == 0) {
        byte.setInvalid();
    }
}

control Test(in input_t input, inout output_t output) {
    apply {
        byte_t byte;
        output.valid_before = byte.isValid();
        fill(byte, input.a);
        output.valid_after = byte.isValid();
        output.pad = 0;
        output.value = byte.isValid() ? byte.value : 8w0xEE;
    }
}

#include "../include/compute.p4"
