// A union as in, out and inout parameter, and inside a structure that is copied.

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

struct holder_t {
    either_t either;
    bit<8> number;
}

header input_t {
    bit<8> a;
}

header output_t {
    bool made_long;
    bool cleared;
    bit<6> pad;
    bit<24> value;
    bit<8> length_before;
    bit<8> length_after;
}

bit<8> length(in either_t either) {
    return either.short.isValid() ? 8w1 : either.long.isValid() ? 8w3 : 8w0;
}

void lengthen(inout either_t either) {
    if (either.short.isValid()) {
        either.long = { 16w0xABCD ++ either.short.value };
    }
}

void clear(out either_t either) {
}

control Test(in input_t input, inout output_t output) {
    holder_t first;
    holder_t second;

    apply {
        first.number = 1;
        first.either.short = { input.a };
        second = first;
        output.length_before = length(second.either);
        lengthen(second.either);
        output.length_after = length(second.either);
        output.made_long = second.either.long.isValid() && first.either.short.isValid();
        output.value = second.either.long.value;
        clear(second.either);
        output.cleared = !second.either.isValid() && second.number == 1;
        output.pad = 0;
    }
}

#include "../include/compute.p4"
