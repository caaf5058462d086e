// Operators at 1,024 bits: the upper and the lower 16 bits of each result, and comparisons.

#include <v1model.p4>

header input_t {
    bit<1024> a;
    bit<1024> b;
}

header output_t {
    bit<32> not_;
    bit<32> negated;
    bit<32> both;
    bit<32> either;
    bit<32> left;
    bit<32> right;
    bit<32> moved;
    bool equal;
    bool less;
    bool at_most;
    bool signed_less;
    bool signed_at_most;
    bit<3> pad;
}

bit<32> ends(in bit<1024> value) {
    return value[1023:1008] ++ value[15:0];
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.not_ = ends(~input.a);
        output.negated = ends(-input.a);
        output.both = ends(input.a & input.b);
        output.either = ends(input.a | input.b);
        output.left = ends(input.a << 77);
        output.right = ends(input.a >> 77);
        output.moved = ends(input.a >> input.b[8:0]);
        output.equal = input.a == input.b;
        output.less = input.a < input.b;
        output.at_most = input.a <= input.b;
        output.signed_less = (int<1024>)input.a < (int<1024>)input.b;
        output.signed_at_most = (int<1024>)input.a <= (int<1024>)input.b;
        output.pad = 0;
    }
}

#include "../include/compute.p4"
