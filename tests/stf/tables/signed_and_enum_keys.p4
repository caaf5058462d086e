// Keys of signed, enum and bool type.

#include <v1model.p4>

enum bit<8> kind_t {
    red = 1,
    green = 2
}

header input_t {
    bit<8> a;
    bit<8> b;
    bit<8> result;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    action set(bit<8> value) {
        hdr.input.result = value;
    }

    table chosen {
        key = {
            (int<4>)hdr.input.a[7:4]: exact @name("number");
            hdr.input.a[0:0] == 1: exact @name("odd");
            (kind_t)hdr.input.b: exact @name("kind");
        }
        actions = {
            set;
        }
        default_action = set(0xFF);
        const entries = {
            (-1, true, kind_t.red): set(1);
            (-1, false, kind_t.green): set(2);
            (7, true, kind_t.red): set(3);
        }
    }

    apply {
        chosen.apply();
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
