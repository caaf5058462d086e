// A table without a default action has NoAction, which a switch may name though the list does not.
#include <v1model.p4>

header input_t {
    bit<8> key;
}

header output_t {
    bit<8> ran;
}

control Test(in input_t input, inout output_t output) {
    action mark() {
        output.ran = 1;
    }
    table marks {
        key = { input.key: exact; }
        actions = { mark; }
    }

    apply {
        switch (marks.apply().action_run) {
            mark: { output.ran = output.ran + 1; }
            NoAction: { output.ran = 9; }
        }
    }
}

#include "../include/compute.p4"
