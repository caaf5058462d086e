// One packet adds entries to two tables.
#include <pna.p4>

header input_t {
    bit<8> kind;
    bit<8> value;
}

struct headers_t {
    input_t input;
}

struct meta_t {
    bit<8> mark;
}

control TestMain(inout headers_t hdr, inout meta_t meta, in pna_main_input_metadata_t istd,
                 inout pna_main_output_metadata_t ostd) {
    action from_port(bit<8> port) {
        hdr.input.value = hdr.input.value + port;
    }

    action learn_sender() {
        add_entry("from_port", { (bit<8>) (PortIdUint_t) istd.input_port }, (ExpireTimeProfileId_t) 0);
    }

    action seen() {
        hdr.input.value = hdr.input.value + 0x80;
    }

    action see() {
        add_entry("seen", {}, (ExpireTimeProfileId_t) 4);
    }

    table senders {
        key = {
            hdr.input.kind: exact;
        }
        actions = {
            from_port;
            @defaultonly learn_sender;
        }
        const default_action = learn_sender();
        add_on_miss = true;
    }

    table packets {
        key = {
            hdr.input.kind: exact;
        }
        actions = {
            seen;
            @defaultonly see;
        }
        const default_action = see();
        add_on_miss = true;
    }

    apply {
        send_to_port((PortId_t) 2);
        hdr.input.value = 0;
        senders.apply();
        packets.apply();
    }
}

#define MAIN TestMain
#include "../include/pna_skeleton.p4"
