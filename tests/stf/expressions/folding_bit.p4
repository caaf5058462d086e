// An expression of constants has the value that the same expression has at run time.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
}

header output_t {
    bit<72> folded;
    bit<72> computed;
}

const bit<8> A = 200;
const bit<8> B = 100;

control Test(in input_t input, inout output_t output) {
    apply {
        output.folded = (A + B) ++ (A - B) ++ (A * B) ++ (A |+| B) ++ (B |-| A) ++ (A >> 3) ++ (A << 3) ++ ~A ++ -B;
        output.computed = (input.a + input.b) ++ (input.a - input.b) ++ (input.a * input.b) ++ (input.a |+| input.b)
                ++ (input.b |-| input.a) ++ (input.a >> 3) ++ (input.a << 3) ++ ~input.a ++ -input.b;
    }
}

#include "../include/compute.p4"
