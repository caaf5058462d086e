// Arguments by name are evaluated, and copied back, in the order in which they are written.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

header output_t {
    bit<8> function_first;
    bit<8> function_second;
    bit<8> function_target;
    bit<8> action_target;
    bit<8> control_target;
    bit<8> register_value;
}

bit<8> next(inout bit<8> value) {
    value = value + 1;
    return value;
}

void note(in bit<8> a, in bit<8> b, out bit<8> x, out bit<8> y) {
    x = a;
    y = b;
}

void two(out bit<8> x, out bit<8> y) {
    x = 0x11;
    y = 0x22;
}

control Two(out bit<8> x, out bit<8> y) {
    apply {
        x = 0x33;
        y = 0x44;
    }
}

control Test(in input_t input, inout output_t output) {
    register<bit<8>>(8) values;
    Two() two_values;

    action both(out bit<8> x, out bit<8> y) {
        x = 0x55;
        y = 0x66;
    }

    apply {
        bit<8> count = input.a;
        bit<8> first;
        bit<8> second;
        note(b = next(count), a = next(count), y = second, x = first);
        output.function_first = first;
        output.function_second = second;
        two(y = output.function_target, x = output.function_target);
        both(y = output.action_target, x = output.action_target);
        two_values.apply(y = output.control_target, x = output.control_target);
        count = 0;
        values.write(value = next(count), index = (bit<32>) next(count));
        values.read(output.register_value, 2);
    }
}

#include "../include/compute.p4"
