// setInvalid on a member, or an invalid header assigned to it, makes the whole union invalid, whichever member was
// valid.

#include <v1model.p4>

header short_t {
    bit<8> value;
}

header long_t {
    bit<24> value;
}

header_union either_t {
    short_t short;
    long_t long;
}

header input_t {
    bit<8> a;
}

// Whether the union is valid: before, after setInvalid of the other member, before, after an assignment to it.
header output_t {
    bool before;
    bool after;
    bool before_assignment;
    bool after_assignment;
    bit<4> pad;
}

control Test(in input_t input, inout output_t output) {
    either_t u;
    long_t none;

    apply {
        u.short = { input.a };
        output.before = u.isValid();
        u.long.setInvalid();
        output.after = u.isValid();
        u.short = { input.a };
        output.before_assignment = u.isValid();
        u.long = none;
        output.after_assignment = u.isValid();
        output.pad = 0;
    }
}

#include "../include/compute.p4"
