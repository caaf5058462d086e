// break and continue inside a switch belong to the loop around it; return leaves the function.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

header output_t {
    bit<8> x;
}

bit<8> count(in bit<8> limit) {
    bit<8> sum = 0;
    for (bit<8> i in 8w1 .. 20) {
        switch (i) {
            2: { continue; }
            5: {
                if (limit == 0) {
                    break;
                }
            }
            9: {
                if (limit == 1) {
                    return 0xEE;
                }
            }
            15: { break; }
            default: { sum = sum + i; }
        }
        sum = sum + limit;
    }
    return sum;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.x = count(input.a);
    }
}

#include "../include/compute.p4"
