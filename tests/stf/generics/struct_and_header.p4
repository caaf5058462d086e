// Generic structures and headers, one inside the other.

#include <v1model.p4>

header input_t {
    bit<8> a;
    bit<16> b;
}

header output_t {
    bit<16> x;
    bit<8> y;
    bool valid;
    bit<7> pad;
}

struct pair_t<A, B> {
    A first;
    B second;
}

struct numbered_t<T> {
    bit<16> number;
    T content;
}

header value_t<T> {
    T value;
}

control Test(in input_t input, inout output_t output) {
    apply {
        pair_t<bit<8>, bit<16>> pair = { input.a, input.b };
        numbered_t<pair_t<bit<8>, bit<16>>> nested = { 7, pair };
        value_t<bit<24>> value;
        value = { nested.content.first ++ nested.content.second };
        output.x = nested.number + nested.content.second;
        output.y = value.value[23:16];
        output.valid = value.isValid();
        output.pad = 0;
    }
}

#include "../include/compute.p4"
