// A Counter counts packets and bytes by index; a DirectCounter counts hits.
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
    Counter<bit<64>, bit<8>>(4, PNA_CounterType_t.PACKETS_AND_BYTES) all;
    DirectCounter<bit<64>>(PNA_CounterType_t.PACKETS_AND_BYTES) hits;

    action known() {
        hits.count();
    }

    table flows {
        key = {
            hdr.input.kind: exact;
        }
        actions = {
            known;
            NoAction;
        }
        default_action = NoAction();
        pna_direct_counter = hits;
    }

    apply {
        send_to_port((PortId_t) 2);
        all.count(hdr.input.value);
        flows.apply();
    }
}

#define MAIN TestMain
#include "../include/pna_skeleton.p4"
