// Arguments in a list of actions are evaluated and copied back in the order in which they are written (§6.8), as those of a call.
#include <v1model.p4>

header input_t {
    bit<8> key;
}

header output_t {
    bit<8> first;
    bit<8> second;
    bit<8> named_first;
    bit<8> named_second;
}

bit<8> set_one(out bit<8> place) {
    place = 1;
    return 5;
}

control Test(in input_t input, inout output_t output) {
    action keeps(inout bit<8> kept, in bit<8> given) {
        output.second = given;
    }
    action two(out bit<8> x, out bit<8> y) {
        x = 1;
        y = 2;
    }
    action reads(in bit<8> x, in bit<8> y) {
        output.named_second = x;
    }
    table positional {
        key = { input.key: exact; }
        actions = { keeps(output.first, set_one(output.first)); }
        default_action = keeps(output.first, set_one(output.first));
    }
    table named {
        actions = { two(y = output.named_first, x = output.named_first); }
        default_action = two(y = output.named_first, x = output.named_first);
    }
    bit<8> local = 3;
    table named_values {
        actions = { reads(y = set_one(local), x = local); }
        default_action = reads(y = set_one(local), x = local);
    }

    apply {
        output.first = 7;
        positional.apply();
        named.apply();
        named_values.apply();
    }
}

#include "../include/compute.p4"
