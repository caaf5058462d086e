// Tables: every match kind, entries of the program and their priorities, what runs after a hit, a miss or an action, an
// action profile and a selector.
header key_t {
    bit<8> operation;
    bit<8> key;
    bit<16> result;
}

struct headers_t {
    key_t key;
}

struct metadata_t {
}

#include "frame.p4"

parser TablesParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.key);
        transition accept;
    }
}

control TablesIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    action_profile(16) shared;
    action_selector(HashAlgorithm.crc16, 32w16, 32w16) chosen;
    action give(bit<8> value) {
        hdr.key.result = hdr.key.result + (bit<16>)value;
    }
    action refuse() {
        mark_to_drop(standard_metadata);
    }
    table masks {
        key = { hdr.key.key: ternary @name("masked key"); }
        actions = { give; refuse; NoAction; }
        const entries = {
            0x10 &&& 0xf0: give(1);
            0x11: give(2);
            0x20 &&& 0xe0: give(3);
            _: refuse();
        }
        default_action = NoAction();
    }
    table ranges {
        key = { hdr.key.key: range; hdr.key.isValid(): exact; }
        actions = { give; NoAction; }
        const entries = {
            (5 .. 9, true): give(1);
            (7 .. 20, true): give(2);
        }
        default_action = NoAction();
    }
    table exacts {
        key = { hdr.key.key: exact; }
        actions = { give; refuse; NoAction; }
        default_action = NoAction();
        size = 16;
    }
    table members {
        key = { hdr.key.key: exact; }
        actions = { give; refuse; NoAction; }
        implementation = shared;
        default_action = NoAction();
    }
    table groups {
        key = { hdr.key.key: exact; hdr.key.result: selector; }
        actions = { give; refuse; NoAction; }
        implementation = chosen;
        default_action = NoAction();
    }
    apply {
        standard_metadata.egress_spec = 2;
        if (hdr.key.operation == 1) {
            masks.apply();
        } else if (hdr.key.operation == 2) {
            if (ranges.apply().hit) {
                hdr.key.result = hdr.key.result + 0x100;
            }
        } else if (hdr.key.operation == 3) {
            switch (exacts.apply().action_run) {
                give: { hdr.key.result = hdr.key.result + 0x100; }
                refuse: { hdr.key.result = 0xffff; standard_metadata.egress_spec = 3; }
            }
        } else if (hdr.key.operation == 4) {
            members.apply();
        } else if (hdr.key.operation == 5) {
            groups.apply();
        }
    }
}

V1Switch(TablesParser(), NoChecksum(), TablesIngress(), NoEgress(), NoChecksum(), EmitAll()) main;
