// A structure and one of its fields as inout arguments: the later copy-out wins.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
}

header output_t {
    bit<8> a;
    bit<8> b;
    bit<8> c;
    bit<8> d;
}

struct pair_t {
    bit<8> first;
    bit<8> second;
}

void change(inout pair_t pair, inout bit<8> part) {
    part = 100;
    pair.first = pair.first + 1;
    pair.second = pair.second + 1;
}

void change_reversed(inout bit<8> part, inout pair_t pair) {
    change(pair, part);
}

control Test(in input_t input, inout output_t output) {
    apply {
        pair_t pair = { input.a, input.b };
        change(pair, pair.first);
        output.a = pair.first;
        output.b = pair.second;
        pair = { input.a, input.b };
        change_reversed(pair.first, pair);
        output.c = pair.first;
        output.d = pair.second;
    }
}

#include "../include/compute.p4"
