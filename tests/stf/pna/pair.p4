// add_entry_pair() of forebay.p4 behind pna.p4: answers of the network find the entry that a packet of the host has added.
#include <pna.p4>
#include <forebay.p4>

header input_t {
    bit<8> from;
    bit<8> to;
}

struct headers_t {
    input_t input;
}

struct meta_t {
    bit<8> mark;
}

control TestMain(inout headers_t hdr, inout meta_t meta, in pna_main_input_metadata_t istd,
                 inout pna_main_output_metadata_t ostd) {
    NumberPool(2) numbers;

    action pass(bit<8> number) {
        meta.mark = number;
        send_to_port((PortId_t) SelectByDirection(istd.direction, 32w256, 32w1));
    }

    action open() {
        bit<32> number;
        if (istd.direction == PNA_Direction_t.HOST_TO_NET && numbers.claim(number)) {
            add_entry_pair("pass", { number[7:0] }, "flows", { hdr.input.to, hdr.input.from }, "pass", { number[7:0] },
                           (ExpireTimeProfileId_t) 0);
            send_to_port((PortId_t) 1);
        }
    }

    table flows {
        key = {
            hdr.input.from: exact;
            hdr.input.to: exact;
        }
        actions = {
            pass;
            @defaultonly open;
        }
        const default_action = open();
        add_on_miss = true;
    }

    apply {
        flows.apply();
        hdr.input.from = hdr.input.from | meta.mark;
    }
}

#define MAIN TestMain
#include "../include/pna_skeleton.p4"
