// Variables that were never written read as 0, as BMv2 has it; so do fields of a header just made valid.

#include <v1model.p4>

header input_t {
    bit<8> a;
}

header output_t {
    bit<8> x;
    bit<16> y;
    bool flag;
    bit<7> pad;
    bit<8> fresh;
}

struct pair_t {
    bit<8> first;
    bit<8> second;
}

header fresh_t {
    bit<8> value;
}

control Test(in input_t input, inout output_t output) {
    fresh_t fresh;

    apply {
        bit<8> x;
        pair_t pair;
        bool flag;
        fresh.setValid();
        output.x = x + input.a;
        output.y = pair.first ++ pair.second;
        output.flag = flag;
        output.pad = 0;
        output.fresh = fresh.value;
    }
}

#include "../include/compute.p4"
