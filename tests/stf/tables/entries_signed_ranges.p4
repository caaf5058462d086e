// A range of a signed key is one of signed numbers, also where it crosses zero, for every kind of key.

#include <v1model.p4>

header input_t {
    int<8> a;
}

header output_t {
    bit<8> range;
    bit<8> exact;
    bit<8> ternary;
    bit<8> lpm;
}

control Test(in input_t input, inout output_t output) {
    bit<8> found;

    action find(bit<8> number) {
        found = number;
    }

    table ranges {
        key = { input.a: range; }
        actions = { find; }
        const default_action = find(0);
        const entries = {
            -3 .. 3: find(1);
            -100 .. -90: find(2);
        }
    }

    table exacts {
        key = { input.a: exact; }
        actions = { find; }
        const default_action = find(0);
        const entries = {
            -3 .. 3: find(1);
        }
    }

    table ternaries {
        key = { input.a: ternary; }
        actions = { find; }
        const default_action = find(0);
        const entries = {
            -3 .. 3: find(1);
        }
    }

    table prefixes {
        key = { input.a: lpm; }
        actions = { find; }
        const default_action = find(0);
        const entries = {
            -3 .. 3: find(1);
        }
    }

    apply {
        ranges.apply();
        output.range = found;
        exacts.apply();
        output.exact = found;
        ternaries.apply();
        output.ternary = found;
        prefixes.apply();
        output.lpm = found;
    }
}

#include "../include/compute.p4"
