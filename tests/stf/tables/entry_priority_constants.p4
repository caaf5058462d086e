// The number in @priority of an entry may be any constant expression; the smallest wins.

enum bit<8> Rank {
    First = 1
}

const bit<16> MIDDLE = 5;
#define LAST (MIDDLE * 2)

#include <v1model.p4>

header input_t {
    bit<8> a;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    action become(bit<8> value) {
        hdr.input.a = value;
    }

    table ranked {
        key = {
            hdr.input.a: ternary;
        }
        actions = {
            become;
        }
        const default_action = become(0xFF);
        const entries = {
            _: become(0xAA) @priority(LAST);
            0x10 &&& 0xF0: become(0xBB) @priority(MIDDLE);
            0x11: become(0xCC) @priority(Rank.First);
        }
    }

    apply {
        standard_metadata.egress_spec = 2;
        ranked.apply();
    }
}

#include "../include/skeleton.p4"
