// The right operand of && and || is evaluated only when it decides.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
}

header output_t {
    bit<8> calls;
    bit<8> result;
}

bool count(inout bit<8> calls, in bool value) {
    calls = calls + 1;
    return value;
}

control Test(in input_t input, inout output_t output) {
    apply {
        bit<8> calls = 0;
        bool both = input.a > 10 && count(calls, input.b > 10);
        bool either = input.a > 10 || count(calls, input.b > 10);
        bool mixed = (input.a == 0 && count(calls, true)) || (input.b == 0 && count(calls, false));
        output.calls = calls;
        output.result = 5w0 ++ (bit<1>)both ++ (bit<1>)either ++ (bit<1>)mixed;
    }
}

#include "../include/compute.p4"
