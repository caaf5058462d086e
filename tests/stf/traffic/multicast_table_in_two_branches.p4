// A table that every copy of a packet applies in one of two branches, which ask for different results of the look-up.

#include <v1model.p4>

header input_t {
    bit<8> branch;
    bit<8> key;
    bit<8> result;
    bit<8> value;
}

struct headers_t {
    input_t input;
}

struct meta_t {
    bit<8> found;
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        standard_metadata.mcast_grp = 1;
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    action find(bit<8> value) {
        meta.found = value;
    }

    table both {
        key = { hdr.input.key: exact; }
        actions = { find; NoAction; }
        default_action = NoAction();
    }

    apply {
        if (hdr.input.branch == 1) {
            if (both.apply().hit) {
                hdr.input.result = 1;
            } else {
                hdr.input.result = 2;
            }
        } else {
            switch (both.apply().action_run) {
                find: { hdr.input.result = 3; }
                NoAction: { hdr.input.result = 4; }
            }
        }
        hdr.input.value = meta.found + (bit<8>) standard_metadata.egress_rid;
    }
}

#include "../include/skeleton.p4"
