// Assigning a valid header to a member makes it the valid one; assigning an invalid one makes it invalid.

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
    bit<3> after_short;
    bit<3> after_long;
    bit<3> after_none;
    bit<7> pad;
    bit<24> value;
}

bit<3> validity(in either_t u) {
    return (bit<1>)u.isValid() ++ (bit<1>)u.short.isValid() ++ (bit<1>)u.long.isValid();
}

control Test(in input_t input, inout output_t output) {
    either_t u;
    long_t none;

    apply {
        u.short = { input.a };
        output.after_short = validity(u);
        u.long = { 16w0x1234 ++ u.short.value };
        output.after_long = validity(u);
        output.value = u.long.value;
        u.long = none;
        output.after_none = validity(u);
        output.pad = 0;
    }
}

#include "../include/compute.p4"
