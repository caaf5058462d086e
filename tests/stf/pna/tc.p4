// PNA for Linux TC: a table learns flows of the host and knows their answers; the annotations of TC mean nothing for packets.
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
    AddEntryErrorStatus_t status = ADD_ENTRY_SUCCESS;

    action hit(@tc_type("dev") PortId_t port) {
        send_to_port(port);
    }

    action miss() {
        status = add_entry_if(is_host_port(istd.input_port), "hit", { istd.input_port }, (ExpireTimeProfileId_t) 2);
        send_to_port((PortId_t) 3);
    }

    @nummask(8)
    table flows {
        key = {
            SelectByDirection(is_net_port(istd.input_port), hdr.input.kind, hdr.input.value): exact @name("here");
            SelectByDirection(is_net_port(istd.input_port), hdr.input.value, hdr.input.kind): exact @name("there");
        }
        actions = {
            @tableonly @default_hit hit;
            @defaultonly miss;
        }
        add_on_miss = true;
        const default_action = miss;
    }

    action mark(@tc_type("be16") bit<8> mark) {
        hdr.input.value = mark;
    }

    table marks {
        key = {
            status: exact;
        }
        actions = {
            @tableonly mark;
            @tc_may_override NoAction;
        }
        @tc_may_override default_action = NoAction;
    }

    apply {
        flows.apply();
        marks.apply();
    }
}

#define WITHOUT_PRE
#define MAIN TestMain
#include "../include/pna_skeleton.p4"
