// An index that is negative is out of range: writing there changes nothing (§8.18, §8.25).
#include <v1model.p4>

header input_t {
    bit<8> index;
}

header output_t {
    bit<8> first;
    bit<8> second;
    bit<8> third;
    bit<8> fourth;
}

header item_t {
    bit<8> value;
}

control Test(in input_t input, inout output_t output) {
    apply {
        item_t[4] items;
        items[0].setValid();
        items[1].setValid();
        items[2].setValid();
        items[3].setValid();
        items[0].value = 0;
        items[1].value = 1;
        items[2].value = 2;
        items[3].value = 3;
        int<2> index = (int<2>) input.index[1:0];
        items[index].value = 9;
        output.first = items[0].value;
        output.second = items[1].value;
        output.third = items[2].value;
        output.fourth = items[3].value;
    }
}

#include "../include/compute.p4"
