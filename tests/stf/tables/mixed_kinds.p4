// Exact, prefix and ternary keys in one table: all must match, the priority decides, not the prefix.

#include <v1model.p4>

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
            hdr.input.a[7:4]: exact @name("high");
            hdr.input.a[3:0]: lpm @name("low");
            hdr.input.b: ternary;
        }
        actions = {
            set;
        }
        default_action = set(0xFF);
    }

    apply {
        chosen.apply();
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
