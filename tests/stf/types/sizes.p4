// minSizeInBits, minSizeInBytes, maxSizeInBits and maxSizeInBytes of headers and structures.

#include <v1model.p4>

header input_t {
    bit<3> a;
    bit<13> b;
}

header output_t {
    bit<16> bits_;
    bit<16> bytes_;
    bit<16> rounded;
    bit<16> smallest;
    bit<16> largest;
}

struct odd_t {
    bit<5> x;
    bit<6> y;
}

header variable_t {
    bit<8> length;
    varbit<80> data;
}

control Test(in input_t input, inout output_t output) {
    apply {
        odd_t odd;
        variable_t variable;
        output.bits_ = (bit<16>)input.minSizeInBits();
        output.bytes_ = (bit<16>)input.maxSizeInBytes();
        output.rounded = (bit<16>)odd.minSizeInBytes();
        output.smallest = (bit<16>)variable.minSizeInBits();
        output.largest = (bit<16>)variable.maxSizeInBits();
    }
}

#include "../include/compute.p4"
