// Numbers without width between which action data decides.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

header output_t {
    bit<8> chosen;
    bit<8> added;
    int<16> negative;
    bit<8> shifted;
}

control Test(in input_t input, inout output_t output) {
    action choose(bool first, bit<8> w) {
        output.chosen = first ? 1 : 200;
        output.added = (first ? 3 : 4) + w;
        output.negative = first ? -2 : 300;
        output.shifted = w << (first ? 1 : 4);
    }

    table choices {
        key = { input.a: exact; }
        actions = { choose; NoAction; }
        const default_action = NoAction();
        const entries = {
            1: choose(true, 1);
            2: choose(false, 1);
        }
    }

    apply {
        choices.apply();
    }
}

#include "../include/compute.p4"
