// Tables in egress that find the same for all copies of a packet, and some that do not.

#include <v1model.p4>

header input_t {
    bit<8> key;
    bit<8> count;
    bit<8> once;
    bit<8> seen_before;
    bit<8> sometimes;
    bit<8> by_instance;
    bit<8> told;
    bit<8> twice;
}

struct headers_t {
    input_t input;
}

struct meta_t {}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        standard_metadata.mcast_grp = 5;
    }
}

#define EGRESS TestEgress
control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    action set_once(bit<8> value) {
        hdr.input.once = value;
        hdr.input.count = hdr.input.count - 1;
    }

    action drop() {
        mark_to_drop(standard_metadata);
    }

    // The same for every copy, and nobody sees that it has been applied.
    table once {
        key = { hdr.input.key: exact; }
        actions = { set_once; drop; NoAction; }
        default_action = NoAction();
    }

    action set_seen(bit<8> value) {
        hdr.input.seen_before = value;
    }

    // What it writes was read before.
    table seen {
        key = { hdr.input.key: exact; }
        actions = { set_seen; NoAction; }
        default_action = NoAction();
    }

    action set_sometimes(bit<8> value) {
        hdr.input.sometimes = value;
    }

    // Applied for some copies.
    table sometimes {
        key = { hdr.input.key: exact; }
        actions = { set_sometimes; NoAction; }
        default_action = NoAction();
    }

    action set_by_instance(bit<8> value) {
        hdr.input.by_instance = value + (bit<8>) standard_metadata.egress_rid;
    }

    // Its action reads what differs.
    table by_instance {
        key = { hdr.input.key: exact; }
        actions = { set_by_instance; NoAction; }
        default_action = NoAction();
    }

    action set_twice(bit<8> value) {
        hdr.input.twice = hdr.input.twice + value;
    }

    // Applied twice where the instance is even.
    table twice {
        key = { hdr.input.key: exact; }
        actions = { set_twice; NoAction; }
        default_action = NoAction();
    }

    apply {
        hdr.input.told = hdr.input.seen_before + (bit<8>) standard_metadata.egress_rid;
        seen.apply();
        if (standard_metadata.egress_rid != 2) {
            sometimes.apply();
        }
        by_instance.apply();
        twice.apply();
        if ((standard_metadata.egress_rid & 1) == 0) {
            twice.apply();
        }
        once.apply();
    }
}

#include "../include/skeleton.p4"
