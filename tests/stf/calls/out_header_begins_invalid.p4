// An out parameter of header type is invalid when the call begins, and what the call leaves is copied out.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

header output_t {
    bool kept;
    bool begun;
    bool now;
    bit<5> pad;
    bit<8> value;
}

header byte_t {
    bit<8> value;
}

void make(out byte_t byte, out bool begun, in bit<8> value) {
    begun = byte.isValid();
    if (value > 10) {
        byte.setValid();
        byte.value = value;
    }
}

control Test(in input_t input, inout output_t output) {
    apply {
        byte_t byte;
        bool begun;
        byte.setValid();
        byte.value = 9;
        output.kept = byte.isValid();
        make(byte, begun, input.a);
        output.begun = begun;
        output.now = byte.isValid();
        output.pad = 0;
        if (byte.isValid()) {
            output.value = byte.value;
        } else {
            output.value = 0xEE;
        }
    }
}

#include "../include/compute.p4"
