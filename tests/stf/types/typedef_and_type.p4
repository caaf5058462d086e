// A typedef is another name; a type introduced by `type` is a new type with its own equality and casts.

#include <v1model.p4>

header input_t {
    bit<16> a;
    bit<16> b;
}

header output_t {
    bit<16> sum;
    bool equal;
    bit<7> pad;
    bit<16> back;
}

typedef bit<16> word_t;
type bit<16> address_t;

control Test(in input_t input, inout output_t output) {
    apply {
        address_t address = (address_t)input.a;
        address_t other = (address_t)input.b;
        word_t word = input.a;
        output.sum = word + input.b;
        output.equal = address == other;
        output.pad = 0;
        output.back = (bit<16>)other;
    }
}

#include "../include/compute.p4"
