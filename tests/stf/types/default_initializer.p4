// `...` gives the fields that are not named their default values.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

header output_t {
    bit<8> x;
    bit<8> y;
    bit<8> z;
    bool flag;
    bool enum_default;
    bit<6> pad;
}

enum kind_t { one, two }

struct values_t {
    bit<8> first;
    bit<8> second;
    bool flag;
    kind_t kind;
}

control Test(in input_t input, inout output_t output) {
    apply {
        values_t some = { second = input.a, ... };
        values_t none = ...;
        output.x = some.first;
        output.y = some.second;
        output.z = none.second;
        output.flag = some.flag;
        output.enum_default = none.kind == kind_t.one;
        output.pad = 0;
    }
}

#include "../include/compute.p4"
