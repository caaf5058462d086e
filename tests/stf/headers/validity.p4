// isValid, setValid and setInvalid; assigning to a field of an invalid header does not make it valid.

#include <v1model.p4>

header byte_t {
    bit<8> value;
}

header input_t {
    bit<8> a;
}

header output_t {
    bit<1> fresh;
    bit<1> set;
    bit<1> reset;
    bit<1> written;
    bit<4> pad;
    bit<8> value;
}

control Test(in input_t input, inout output_t output) {
    byte_t byte;
    byte_t other;

    apply {
        output.fresh = (bit<1>)byte.isValid();
        byte.setValid();
        byte.value = input.a;
        output.set = (bit<1>)byte.isValid();
        output.value = byte.value;
        byte.setInvalid();
        output.reset = (bit<1>)byte.isValid();
        other.value = 5;
        output.written = (bit<1>)other.isValid();
        output.pad = 0;
    }
}

#include "../include/compute.p4"
