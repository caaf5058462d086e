// A header with bool, signed, enum and nested structure fields is laid out without gaps.

#include <v1model.p4>

enum bit<3> kind_t {
    zero = 0,
    five = 5
}

struct position_t {
    bit<5> x;
    int<6> y;
}

header input_t {
    bool flag;
    position_t from;
    position_t to;
    kind_t kind;
    bit<6> rest;
}

header output_t {
    position_t to;
    bool flag;
    kind_t kind;
    position_t from;
    bit<6> rest;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.flag = !input.flag;
        output.kind = kind_t.five;
        output.to = input.from;
        output.from.x = input.to.x + 1;
        output.from.y = -input.to.y;
        output.rest = input.rest;
    }
}

#include "../include/compute.p4"
