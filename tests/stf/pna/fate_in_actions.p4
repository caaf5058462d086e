// Actions of several tables decide on the fate of a packet; the last call counts.
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
    action forward(PortId_t port) {
        send_to_port(port);
    }

    action refuse() {
        drop_packet();
    }

    table routes {
        key = {
            hdr.input.kind: exact;
        }
        actions = {
            forward;
            refuse;
        }
        const default_action = refuse();
    }

    table rules {
        key = {
            hdr.input.value: exact;
        }
        actions = {
            forward;
            refuse;
            NoAction;
        }
        default_action = NoAction();
    }

    apply {
        routes.apply();
        rules.apply();
    }
}

#define MAIN TestMain
#include "../include/pna_skeleton.p4"
