// Annotations, known and unknown, structured and not, change nothing; an @atomic block is a block.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

header output_t {
    bit<8> x;
}

@my_annotation(anything goes here 1 + 2)
@structured[key = "value", other = 5]
@pure
bit<8> unused_function(in bit<8> x) {
    return x;
}

control Test(in input_t input, inout output_t output) {
    apply {
        bit<8> local = 0;
        @atomic {
            local = input.a + 1;
            @unknown["text", 1, 2] {
                local = local * 2;
            }
        }
        if (local > 10) {
            local = local - 1;
        }
        output.x = local;
    }
}

#include "../include/compute.p4"
