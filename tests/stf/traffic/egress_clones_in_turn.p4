// Packets and their clones from egress write a register there, in order.

#include <v1model.p4>

header input_t {
    bit<8> kind;
    bit<8> number;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    register<bit<8>>(1) last;

    apply {
        bit<8> number;
        last.read(number, 0);
        number = number + 1;
        last.write(0, number);
        hdr.input.number = number;
        if (standard_metadata.instance_type == 0 && hdr.input.kind == 1) {
            clone(CloneType.E2E, 7);
        } else if (standard_metadata.instance_type == 0 && hdr.input.kind == 2) {
            clone(CloneType.E2E, 8);
        } else if (hdr.input.kind == 3 && standard_metadata.egress_port == 2) {
            clone(CloneType.E2E, 8);
        }
    }
}

#include "../include/skeleton.p4"
