// A thousand entries added by the test to an exact-match table, and as many packets find theirs.

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
    action set(bit<16> value) {
        hdr.input.result = (bit<8>)value;
    }

    table chosen {
        key = {
            hdr.input.a ++ hdr.input.b: exact @name("key");
        }
        actions = {
            set;
        }
        default_action = set(0xFF);
        size = 2048;
    }

    apply {
        chosen.apply();
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
