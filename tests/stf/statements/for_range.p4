// for in a range visits both ends; a range that ends before it begins is empty.

#include <v1model.p4>

header input_t {
    bit<8> low;
    bit<8> high;
}

header output_t {
    bit<8> count;
    bit<8> sum;
    bit<24> digits;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.count = 0;
        output.sum = 0;
        output.digits = 0;
        for (bit<8> i in input.low .. input.high) {
            output.count = output.count + 1;
            output.sum = output.sum + i;
            output.digits = output.digits << 4 | (bit<24>)i;
        }
    }
}

#include "../include/compute.p4"
