// At most one member of a union is valid: making one valid makes the others invalid.

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

// Validity of the union, of short, and of long.
header output_t {
    bit<3> at_first;
    bit<3> after_short;
    bit<3> after_long;
    bit<3> after_invalid;
    bit<4> pad;
}

bit<3> validity(in either_t u) {
    return (bit<1>)u.isValid() ++ (bit<1>)u.short.isValid() ++ (bit<1>)u.long.isValid();
}

control Test(in input_t input, inout output_t output) {
    either_t u;

    apply {
        output.at_first = validity(u);
        u.short.setValid();
        output.after_short = validity(u);
        u.long.setValid();
        output.after_long = validity(u);
        u.long.setInvalid();
        output.after_invalid = validity(u);
        output.pad = input.a[3:0];
    }
}

#include "../include/compute.p4"
