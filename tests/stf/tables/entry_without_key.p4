// A table without key misses until the control plane adds its one entry, which every packet hits.

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
    action set(bit<8> value) {
        hdr.input.a = value;
    }

    table parameters {
        actions = {
            set;
            NoAction;
        }
        default_action = NoAction();
    }

    apply {
        standard_metadata.egress_spec = parameters.apply().hit ? 9w2 : 3;
    }
}

#include "../include/skeleton.p4"
