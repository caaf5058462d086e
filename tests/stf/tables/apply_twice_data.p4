// A table with one action is applied twice with different keys: each time the action has the data of its own entry.

#include <v1model.p4>

header input_t {
    bit<16> first;
    bit<16> second;
    bit<16> short_of_first;
    bit<48> long_of_first;
    bit<16> short_of_second;
    bit<48> long_of_second;
}

struct headers_t {
    input_t input;
}

struct meta_t {
    bit<16> key;
    bit<16> short;
    bit<48> long;
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    action find(bit<16> short, bit<48> long) {
        meta.short = short;
        meta.long = long;
    }

    table found {
        key = { meta.key: exact; }
        actions = { find; }
        default_action = find(0x1111, 0x222222222222);
    }

    apply {
        meta.key = hdr.input.first;
        found.apply();
        hdr.input.short_of_first = meta.short;
        hdr.input.long_of_first = meta.long;
        meta.key = hdr.input.second;
        found.apply();
        hdr.input.short_of_second = meta.short;
        hdr.input.long_of_second = meta.long;
        standard_metadata.egress_spec = 2;
    }
}

#include "../include/skeleton.p4"
