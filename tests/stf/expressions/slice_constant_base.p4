// [low +: width] with a constant base is the same as [low + width - 1 : low].

#include <v1model.p4>

header input_t {
    bit<24> a;
}

header output_t {
    bit<8> x;
    bit<8> y;
    bit<24> z;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.x = input.a[5+:8];
        output.y = input.a[12:5];
        output.z = input.a;
        output.z[20+:4] = input.a[0+:4];
    }
}

#include "../include/compute.p4"
