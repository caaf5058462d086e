// The key of a table is what an action of the table before has: its data, or a field of the packet. The key of the first
// table is long.

#include <v1model.p4>

header input_t {
    bit<64> pad0;
    bit<64> pad1;
    bit<64> pad2;
    bit<64> pad3;
    bit<64> pad4;
    bit<64> pad5;
    bit<64> pad6;
    bit<64> pad7;
    bit<64> pad8;
    bit<64> pad9;
    bit<64> pad10;
    bit<64> pad11;
    bit<64> pad12;
    bit<64> pad13;
    bit<64> pad14;
    bit<64> pad15;
    bit<8> own;
    bit<8> result;
}

struct headers_t {
    input_t input;
}

struct meta_t {
    bit<8> found;
}

#define INGRESS TestIngress
control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard_metadata) {
    action find(bit<8> value) {
        meta.found = value;
    }

    action copy() {
        meta.found = hdr.input.own;
    }

    action set(bit<8> value) {
        hdr.input.result = value;
    }

    table first {
        key = {
            hdr.input.pad0: exact;
            hdr.input.pad1: exact;
            hdr.input.pad2: exact;
            hdr.input.pad3: exact;
            hdr.input.pad4: exact;
            hdr.input.pad5: exact;
            hdr.input.pad6: exact;
            hdr.input.pad7: exact;
            hdr.input.pad8: exact;
            hdr.input.pad9: exact;
            hdr.input.pad10: exact;
            hdr.input.pad11: exact;
            hdr.input.pad12: exact;
            hdr.input.pad13: exact;
            hdr.input.pad14: exact;
            hdr.input.pad15: exact;
        }
        actions = {
            find;
            copy;
        }
        default_action = copy();
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
        first.apply();
        second.apply();
    }
}

#include "../include/skeleton.p4"
