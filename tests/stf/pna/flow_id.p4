// allocate_flow_id() gives each flow a number of its own, which its entry keeps.
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
    action known(FlowId_t id) {
        hdr.input.value = ((FlowIdUint_t) id)[7:0];
    }

    action learn() {
        FlowId_t id = allocate_flow_id();
        add_entry("known", { id }, (ExpireTimeProfileId_t) 0);
        hdr.input.value = ((FlowIdUint_t) id)[7:0] + 0x80;
    }

    table flows {
        key = {
            hdr.input.kind: exact;
        }
        actions = {
            known;
            @defaultonly learn;
        }
        const default_action = learn();
        add_on_miss = true;
    }

    apply {
        send_to_port((PortId_t) 2);
        flows.apply();
    }
}

#define MAIN TestMain
#include "../include/pna_skeleton.p4"
