// An argument that a macro uses on both sides of an assignment is evaluated twice, unlike the target of `+=`.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

header output_t {
    bit<8> first;
    bit<8> second;
    bit<8> third;
    bit<8> calls;
}

#define ADD_THREE(x) x = x + 1 + 2
#define INCREASE(x) x += 1

bit<8> next(inout bit<8> n) {
    n = n + 1;
    return n;
}

control Test(in input_t input, inout output_t output) {
    apply {
        bit<8>[4] items;
        items[0] = 1;
        items[1] = 10;
        items[2] = 20;
        items[3] = 30;
        bit<8> n = input.a;
        ADD_THREE(items[next(n)]);
        INCREASE(items[next(n)]);
        output.first = items[1];
        output.second = items[2];
        output.third = items[3];
        output.calls = n;
    }
}

#include "../include/compute.p4"
