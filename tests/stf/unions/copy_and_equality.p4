// A union is copied with its state; unions are equal when the same member is valid with the same value, or none is.

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
    bit<8> b;
}

header output_t {
    bool none_equal;
    bool copied;
    bool one_invalid;
    bool other_member;
    bool values_equal;
    bool emptied;
    bit<2> pad;
}

control Test(in input_t input, inout output_t output) {
    either_t u;
    either_t v;

    apply {
        output.none_equal = u == v;
        u.short = { input.a };
        output.one_invalid = u == v;
        v = u;
        output.copied = v.short.isValid() && v == u;
        v.short = { input.b };
        output.values_equal = u == v;
        v.long = { (bit<24>)input.a };
        output.other_member = u == v;
        v = (either_t){#};
        output.emptied = !v.isValid();
        output.pad = 0;
    }
}

#include "../include/compute.p4"
