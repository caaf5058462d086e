// An index that is computed finds each element of a long array, constant or not.

#include <v1model.p4>

header input_t {
    bit<8> index;
    bit<8> constant;
    bit<8> stored;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta,
                    inout standard_metadata_t standard_metadata) {
    const bit<8>[37] SQUARES = { 0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121, 144, 169, 196, 225, 0, 33, 68, 105,
                                 144, 185, 228, 17, 64, 113, 164, 217, 16, 73, 132, 193, 0, 65, 132, 201, 16 };
    bit<8>[37] values;

    apply {
        for (bit<8> i in 0 .. 36) {
            values[i] = 8w200 - i;
        }
        hdr.input.constant = SQUARES[hdr.input.index];
        hdr.input.stored = values[hdr.input.index];
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
