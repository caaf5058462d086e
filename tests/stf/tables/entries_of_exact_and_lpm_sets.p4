// Masks and ranges for exact keys, ranges for lpm keys (P4_16 §14.2.1.4): an entry stands for several, and an earlier one goes first.

#include <v1model.p4>

header input_t {
    bit<4> a;
    bit<4> b;
}

header output_t {
    bit<8> exact;
    bit<8> any;
    bit<8> lpm;
}

control Test(in input_t input, inout output_t output) {
    bit<8> found;

    action find(bit<8> number) {
        found = number;
    }

    table exacts {
        key = { input.a: exact; }
        actions = { find; }
        const default_action = find(0);
        const entries = {
            3: find(1);
            2 .. 5: find(2);
            0x8 &&& 0x9: find(3);
            5: find(4);
        }
    }

    table anys {
        key = { input.a: exact; input.b: exact; }
        actions = { find; }
        const default_action = find(0);
        const entries = {
            (1, 1): find(1);
            (1, _): find(2);
        }
    }

    table prefixes {
        key = { input.a: lpm; }
        actions = { find; }
        const default_action = find(0);
        const entries = {
            1 .. 6: find(1);
            8 .. 15: find(2);
            0: find(3);
            1: find(4);
        }
    }

    apply {
        exacts.apply();
        output.exact = found;
        anys.apply();
        output.any = found;
        prefixes.apply();
        output.lpm = found;
    }
}

#include "../include/compute.p4"
