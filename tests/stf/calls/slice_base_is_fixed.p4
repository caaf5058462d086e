// The bits that [low +: width] names are fixed before the right side is evaluated or the callee runs, also when it changes low.

#include <v1model.p4>

header input_t {
    bit<8> low;
}

header output_t {
    bit<32> assigned;
    bit<8> low_assigned;
    bit<32> copied_out;
    bit<8> low_copied_out;
}

bit<8> bump(inout bit<8> n) {
    n = n + 8;
    return 0xAA;
}

void both(out bit<8> n, inout bit<8> s) {
    s = s + 1;
    n = 24;
}

control Test(in input_t input, inout output_t output) {
    apply {
        bit<8> n = input.low;
        output.assigned = 0;
        output.assigned[n+:8] = bump(n);
        output.low_assigned = n;
        bit<8> m = input.low;
        output.copied_out = 0;
        both(m, output.copied_out[m+:8]);
        output.low_copied_out = m;
    }
}

#include "../include/compute.p4"
