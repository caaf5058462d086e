// A label of a switch may be a parameter without direction: action data, or an argument of a control that is applied twice.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

header output_t {
    bit<8> first;
    bit<8> second;
    bit<8> data;
}

control Compare(in bit<8> value, out bit<8> result, bit<8> label) {
    apply {
        switch (value) {
            label: { result = 1; }
            9: { result = 2; }
            default: { result = 3; }
        }
    }
}

control Test(in input_t input, inout output_t output) {
    Compare() compare;

    action with_data(bit<8> label) {
        switch (input.a) {
            label: { output.data = 1; }
            default: { output.data = 3; }
        }
    }

    table data {
        key = { input.a: ternary; }
        actions = { with_data; }
        const default_action = with_data(5);
    }

    apply {
        compare.apply(input.a, output.first, 5);
        compare.apply(input.a, output.second, 6);
        data.apply();
    }
}

#include "../include/compute.p4"
