// Values that are cast to `int` are exact, and numbers without width that action data shifts take the width of the target.

#include <v1model.p4>

header input_t {
    bit<8> a;
    int<8> s;
}

header output_t {
    bit<16> product;
    bit<16> sum;
    int<16> negative;
    int<16> widened;
    bit<8> comparisons;
    bit<16> halves;
    bit<16> assigned;
    bit<16> cast;
}

control Test(in input_t input, inout output_t output) {
    action shift(bit<8> n) {
        output.assigned = 1 << n;
        output.cast = (bit<16>) (3 << n) + 1;
    }

    table shifts {
        key = { input.a: exact; }
        actions = { shift; NoAction; }
        const default_action = NoAction();
        const entries = {
            0xFA: shift(10);
        }
    }

    apply {
        output.product = (bit<16>) ((int) input.a * 256);
        output.sum = (bit<16>) ((int) input.a + 256);
        output.negative = (int<16>) (-(int) input.a);
        output.widened = (int<16>) ((int) input.s - 1);
        output.comparisons = 0;
        if ((int) input.a == 5) {
            output.comparisons = output.comparisons | 1;
        }
        if ((int) input.a < 300) {
            output.comparisons = output.comparisons | 2;
        }
        if ((int) input.s > -100) {
            output.comparisons = output.comparisons | 4;
        }
        if ((int) input.s * 3 != (int) input.a) {
            output.comparisons = output.comparisons | 8;
        }
        output.halves = (bit<16>) ((int) input.a * 300 >> 1);
        shifts.apply();
    }
}

#include "../include/compute.p4"
