// An entry that no packet has hit for the time of its profile is deleted; a hit begins the time again.
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
    action hit() {
        hdr.input.value = 1;
    }

    action longer() {
        hdr.input.value = 2;
        set_entry_expire_time((ExpireTimeProfileId_t) 4);
    }

    action miss() {
        hdr.input.value = 0;
        if (hdr.input.kind >= 0x80) {
            add_entry("longer", {}, (ExpireTimeProfileId_t) 0);
        } else {
            add_entry("hit", {}, (ExpireTimeProfileId_t) 0);
        }
    }

    table flows {
        key = {
            hdr.input.kind: exact;
        }
        actions = {
            hit;
            longer;
            @defaultonly miss;
        }
        add_on_miss = true;
        const default_action = miss();
    }

    Register<bit<8>, bit<8>>(1) clock;

    apply {
        send_to_port((PortId_t) 2);
        clock.write(0, 0);
        flows.apply();
    }
}

#define MAIN TestMain
#include "../include/pna_skeleton.p4"
