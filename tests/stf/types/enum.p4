// An enumeration without representation is compared, assigned, passed and returned.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

header output_t {
    bit<8> code;
    bool same;
    bool different;
    bit<6> pad;
}

enum color_t { red, green, blue }

color_t choose(in bit<8> value) {
    if (value < 10) {
        return color_t.red;
    }
    return value < 20 ? color_t.green : color_t.blue;
}

control Test(in input_t input, inout output_t output) {
    apply {
        color_t color = choose(input.a);
        color_t copy = color;
        output.same = copy == color;
        output.different = color != color_t.red;
        output.code = color == color_t.red ? 8w1 : color == color_t.green ? 8w2 : 8w3;
        output.pad = 0;
    }
}

#include "../include/compute.p4"
