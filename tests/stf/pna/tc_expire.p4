// set_entry_expire_time_if and update_expire_info give an entry another profile if they are told to.
#include <tc/pna.p4>

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
    action hit() {
        set_entry_expire_time_if(hdr.input.value == 1, (ExpireTimeProfileId_t) 3);
        update_expire_info(hdr.input.value & 2 != 0, hdr.input.value & 4 != 0, (ExpireTimeProfileId_t) 3);
    }

    action miss() {
        add_entry("hit", {}, (ExpireTimeProfileId_t) 0);
    }

    @expire_seconds(3, 30, 30, 12)
    table flows {
        key = {
            hdr.input.kind: exact;
        }
        actions = {
            @tableonly hit;
            @defaultonly miss;
        }
        add_on_miss = true;
        pna_idle_timeout = PNA_IdleTimeout_t.AUTO_DELETE;
        const default_action = miss;
    }

    apply {
        flows.apply();
        send_to_port((PortId_t) 2);
    }
}

#define WITHOUT_PRE
#define MAIN TestMain
#include "../include/pna_skeleton.p4"
