// InternetChecksum adds and subtracts 16-bit words in ones' complement, and its state can be kept and given back.
#include <psa.p4>

header input_t {
    bit<16> first;
    bit<16> second;
    bit<16> third;
}

header output_t {
    bit<16> sum;
    bit<16> without;
    bit<16> again;
    bit<16> cleared;
}

control Test(in input_t input, inout output_t output) {
    InternetChecksum() checksum;

    apply {
        checksum.clear();
        checksum.add({ input.first, input.second });
        checksum.add(input.third);
        output.sum = checksum.get();
        bit<16> state = checksum.get_state();
        checksum.subtract({ input.second });
        output.without = checksum.get();
        checksum.set_state(state);
        output.again = checksum.get();
        checksum.clear();
        output.cleared = checksum.get();
    }
}

#include "../include/psa_compute.p4"
