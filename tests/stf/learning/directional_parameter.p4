// An entry that a packet adds has values for the action data alone: the list of actions binds the directional parameter.

#include <v1model.p4>
#include <forebay.p4>

header input_t {
    bit<8> key;
    bit<8> value;
}

header output_t {
    bit<8> value;
    bit<8> missed;
}

control Test(in input_t input, inout output_t output) {
    action hit(inout bit<8> target, bit<8> value) {
        target = value;
    }

    action miss() {
        add_entry("hit", { input.value }, 8w2);
        output.missed = 1;
    }

    table values {
        key = { input.key: exact; }
        actions = { hit(output.value); @defaultonly miss; }
        const default_action = miss();
        add_on_miss = true;
    }

    apply {
        values.apply();
    }
}

#include "../include/compute.p4"
