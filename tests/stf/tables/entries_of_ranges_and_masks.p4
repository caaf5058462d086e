// Entries that no single match says (P4_16 §14.2.1.4): a range of a ternary key, a mask of a range key, both at once.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
}

header output_t {
    bit<8> ternary;
    bit<8> range;
    bit<8> both;
}

control Test(in input_t input, inout output_t output) {
    bit<8> found;

    action find(bit<8> number) {
        found = number;
    }

    table ternaries {
        key = { input.a: ternary; }
        actions = { find; }
        const default_action = find(0);
        const entries = {
            3 .. 3: find(1);
            1 .. 6: find(2);
            0xf0 .. 0xff: find(3);
        }
    }

    table ranges {
        key = { input.a: range; }
        actions = { find; }
        const default_action = find(0);
        const entries = {
            0x10 &&& 0xf0: find(1);
            0x01 &&& 0x81: find(2);
        }
    }

    table pairs {
        key = { input.a: ternary; input.b: range; }
        actions = { find; }
        const default_action = find(0);
        const entries = {
            (1 .. 6, 0x01 &&& 0x81): find(1);
            (_, 7): find(2);
        }
    }

    apply {
        ternaries.apply();
        output.ternary = found;
        ranges.apply();
        output.range = found;
        pairs.apply();
        output.both = found;
    }
}

#include "../include/compute.p4"
