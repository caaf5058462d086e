// Assigning a header copies its validity too; a list of values makes it valid.

#include <v1model.p4>

header byte_t {
    bit<8> value;
}

header input_t {
    bit<8> a;
}

header output_t {
    bool from_valid;
    bool from_invalid;
    bool from_list;
    bool from_hash;
    bit<4> pad;
    bit<8> x;
    bit<8> y;
}

control Test(in input_t input, inout output_t output) {
    byte_t valid_one;
    byte_t invalid_one;
    byte_t target;

    apply {
        valid_one = { input.a };
        target = valid_one;
        output.from_valid = target.isValid();
        output.x = target.value;
        target = invalid_one;
        output.from_invalid = target.isValid();
        target = { value = input.a + 1 };
        output.from_list = target.isValid();
        output.y = target.value;
        target = (byte_t){#};
        output.from_hash = target.isValid();
        output.pad = 0;
    }
}

#include "../include/compute.p4"
