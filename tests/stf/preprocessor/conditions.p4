// Conditional compilation: #if with arithmetic and defined, #ifdef, #elif, #else, nested.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

header output_t {
    bit<8> x;
}

#define LEVEL 3
#if LEVEL * 2 == 6 && !defined(MISSING)
const bit<8> ONE = 1;
#else
this is never read "or lexed
#endif
#ifdef MISSING
const bit<8> TWO = 99;
#elif LEVEL > 2
#ifndef LEVEL
const bit<8> TWO = 98;
#else
const bit<8> TWO = 2;
#endif
#else
const bit<8> TWO = 97;
#endif

control Test(in input_t input, inout output_t output) {
    apply {
        output.x = input.a + ONE + TWO;
    }
}

#include "../include/compute.p4"
