// A number says to which of several registers a value goes; every register is read behind that.

#include <v1model.p4>

header input_t {
    bit<8> place;
    bit<32> index;
    bit<72> value;
    bit<8> mark;
}

header content_t {
    bit<72> first;
    bit<72> second;
    bit<72> third;
    bit<72> fourth;
    bit<16> narrow;
}

struct headers_t {
    input_t input;
    content_t content;
}

struct meta_t {}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    register<bit<72>>(6) first;
    register<bit<72>>(6) second;
    register<bit<72>>(6) third;
    register<bit<72>>(6) fourth;
    register<bit<16>>(6) narrow;

    apply {
        bit<32> index = hdr.input.index;
        bit<8> mark = 9;
        // In another order than that of the registers, with a way in between that does something else.
        if (hdr.input.place == 4) {
            third.write(index, hdr.input.value);
            mark = 1;
        } else if (hdr.input.place == 7) {
            mark = 2;
            narrow.write(index, hdr.input.value[15:0]);
        } else if (hdr.input.place == 2) {
            mark = 1;
            first.write(index, hdr.input.value);
        } else {
            mark = 1;
            if (hdr.input.place == 3) {
                second.write(index, hdr.input.value);
            } else if (hdr.input.place == 5) {
                fourth.write(index, hdr.input.value);
            } else if (hdr.input.place == 4) {
                // Never: the third one has been written.
                fourth.write(index, 1);
            } else {
                mark = 3;
            }
        }
        hdr.input.mark = mark;
        hdr.content.setValid();
        first.read(hdr.content.first, index);
        second.read(hdr.content.second, index);
        third.read(hdr.content.third, index);
        fourth.read(hdr.content.fourth, index);
        narrow.read(hdr.content.narrow, index);
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
