// A package whose type parameter only the default value of a block determines.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

header output_t {
    bit<8> x;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.x = input.a + 1;
    }
}

control Nothing(inout bit<8> value) {
    apply {}
}

control Block<T>(inout T value);

package Pair<T>(Block<T> block = Nothing());

Pair() pair;

#include "../include/compute.p4"
