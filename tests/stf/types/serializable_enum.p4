// A serializable enum in a header: its names, its other values, casts both ways, arithmetic.

#include <v1model.p4>

enum bit<16> kind_t {
    ipv4 = 0x0800,
    arp = 0x0806
}

header input_t {
    kind_t kind;
    bit<8> a;
}

header output_t {
    kind_t kind;
    bool ipv4;
    bool unknown;
    bit<6> pad;
    bit<16> next;
    kind_t cast;
}

control Test(in input_t input, inout output_t output) {
    apply {
        output.kind = input.kind;
        output.ipv4 = input.kind == kind_t.ipv4;
        output.unknown = input.kind != kind_t.ipv4 && input.kind != kind_t.arp;
        output.pad = 0;
        output.next = input.kind + 1;
        output.cast = (kind_t)(8w0x08 ++ input.a);
    }
}

#include "../include/compute.p4"
