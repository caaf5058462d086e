// Random gives numbers between its bounds, both inclusive.
#include <psa.p4>

header input_t {
    bit<8> kind;
}

header output_t {
    bit<8> within;
    bit<8> only;
}

control Test(in input_t input, inout output_t output) {
    Random<bit<8>>(10, 12) some;
    Random<bit<8>>(7, 7) one;

    apply {
        bit<8> drawn = some.read();
        output.within = drawn >= 10 && drawn <= 12 ? 8w1 : 8w0;
        output.only = one.read();
    }
}

#include "../include/psa_compute.p4"
