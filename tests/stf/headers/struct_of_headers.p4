// A structure of headers is copied with the validity of each, and compared with it.

#include <v1model.p4>

header byte_t {
    bit<8> value;
}

struct two_t {
    byte_t first;
    byte_t second;
    bit<8> plain;
}

header input_t {
    bit<8> a;
}

header output_t {
    bool first;
    bool second;
    bool equal;
    bool differs;
    bit<4> pad;
    bit<8> value;
}

control Test(in input_t input, inout output_t output) {
    two_t x;
    two_t y;

    apply {
        x.second = { input.a };
        x.plain = 3;
        y = x;
        output.first = y.first.isValid();
        output.second = y.second.isValid();
        output.equal = x == y;
        output.value = y.second.value + y.plain;
        y.second.setInvalid();
        output.differs = x != y;
        output.pad = 0;
    }
}

#include "../include/compute.p4"
