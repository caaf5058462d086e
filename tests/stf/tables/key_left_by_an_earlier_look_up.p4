// A table is applied once or twice before another one, whose key is what the first one found; a look-up that misses leaves
// the key as it was. The key of the first table is long.

#include <v1model.p4>

header input_t {
    bit<8> twice;
    bit<8> a;
    bit<8> b;
    bit<8> result;
    bit<448> pad;
}

struct headers_t {
    input_t input;
}

struct meta_t {
    bit<8> key;
    bit<8> found;
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    action find(bit<8> value) {
        meta.found = value;
    }

    action set(bit<8> value) {
        hdr.input.result = value;
    }

    table first {
        key = {
            meta.key: exact;
            hdr.input.pad: exact;
        }
        actions = {
            find;
            NoAction;
        }
        default_action = NoAction();
    }

    table second {
        key = {
            meta.found: exact;
        }
        actions = {
            set;
            NoAction;
        }
        default_action = NoAction();
    }

    apply {
        standard_metadata.egress_spec = 2;
        meta.key = hdr.input.a;
        if (hdr.input.twice == 1) {
            first.apply();
        }
        meta.key = hdr.input.b;
        first.apply();
        second.apply();
    }
}

#include "../include/skeleton.p4"
