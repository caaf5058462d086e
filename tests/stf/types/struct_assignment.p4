// Structures are copied as a whole, nested ones too, and the copy is independent.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<8> b;
}

header output_t {
    bit<8> x;
    bit<8> y;
    bit<8> z;
    bit<8> w;
}

struct inner_t {
    bit<8> a;
    bit<8> b;
}

struct outer_t {
    inner_t inner;
    bit<8> c;
}

control Test(in input_t input, inout output_t output) {
    apply {
        outer_t first;
        outer_t second;
        first = { inner = { a = input.a, b = input.b }, c = 7 };
        second = first;
        second.inner.a = 99;
        inner_t part = second.inner;
        part.b = part.b + 1;
        output.x = first.inner.a;
        output.y = second.inner.a;
        output.z = part.b;
        output.w = second.c + second.inner.b;
    }
}

#include "../include/compute.p4"
