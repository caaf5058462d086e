// With NOTIFY_CONTROL an entry that becomes idle stays.
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
    action known() {
        hdr.input.value = 1;
        set_entry_expire_time((ExpireTimeProfileId_t) 0);
    }

    action unknown() {
        hdr.input.value = 0;
    }

    table flows {
        key = {
            hdr.input.kind: exact;
        }
        actions = {
            known;
            unknown;
        }
        const default_action = unknown();
        pna_idle_timeout = PNA_IdleTimeout_t.NOTIFY_CONTROL;
    }

    apply {
        send_to_port((PortId_t) 2);
        flows.apply();
    }
}

#define MAIN TestMain
#include "../include/pna_skeleton.p4"
