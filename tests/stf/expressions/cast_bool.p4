// bit<1> and bool, both ways, in expressions and in fields.

#include <v1model.p4>

header input_t {
    bit<1> a;
    bool b;
    bit<6> c;
}

header output_t {
    bool x;
    bit<1> y;
    bool z;
    bit<5> pad;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.x = (bool)input.a;
        output.y = (bit<1>)input.b;
        output.z = (bool)(input.a ^ (bit<1>)input.b) && input.c[0:0] == 1;
        output.pad = 0;
    }
}

#include "../include/compute.p4"
