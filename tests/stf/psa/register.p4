// A Register gives back what was written, or its first value; outside of the array it gives 0.
#include <psa.p4>

header input_t {
    bit<8> index;
    bit<8> value;
}

header output_t {
    bit<8> before;
    bit<8> first;
    bit<8> second;
}

struct pair_t {
    bit<8> first;
    bit<8> second;
}

control Test(in input_t input, inout output_t output) {
    Register<bit<8>, bit<8>>(4, 7) plain;
    Register<pair_t, bit<8>>(4) pairs;

    apply {
        output.before = plain.read(input.index);
        plain.write(input.index, input.value);
        pair_t pair = pairs.read(input.index);
        output.first = pair.first;
        output.second = pair.second;
        pairs.write(input.index, { input.value, pair.first });
    }
}

#include "../include/psa_compute.p4"
